"""The parts that `obelus up` brings along: Kafka, PostgreSQL, Valkey, vectors."""
