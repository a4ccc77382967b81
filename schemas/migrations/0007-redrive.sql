-- When somebody asked for a dead letter to be tried again; its consumer does it and clears this.
ALTER TABLE dead_letters ADD COLUMN redrive_at timestamptz;
CREATE INDEX dead_letters_redrive ON dead_letters (consumer, id) WHERE redrive_at IS NOT NULL;
