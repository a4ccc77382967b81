-- A dead letter that a person gave up for good holds nothing back any more, the cut of an inbound log least of all.
ALTER TABLE dead_letters DROP CONSTRAINT dead_letters_state_check;
ALTER TABLE dead_letters ADD CONSTRAINT dead_letters_state_check
    CHECK (state IN ('open', 'redriven', 'gone', 'discarded'));
