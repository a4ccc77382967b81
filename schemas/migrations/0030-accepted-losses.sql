-- What an operator knowingly went on without: offsets of an inbound log that no consumer can read any more.
CREATE TABLE accepted_losses (
    consumer text NOT NULL,
    log smallint NOT NULL REFERENCES logs,
    part integer NOT NULL,
    start bigint NOT NULL,
    stop bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer, log, part, start, stop)
);
