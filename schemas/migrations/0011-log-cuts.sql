-- How far Obelus itself has cut an inbound log, all its readers being past that: a position below it is no loss,
-- it was set back for a replay. A restored backup has older rows, and its positions are a loss again.
CREATE TABLE log_cuts (
    log smallint NOT NULL REFERENCES logs,
    part integer NOT NULL,
    upto bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (log, part)
);
