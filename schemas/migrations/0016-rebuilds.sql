-- Names of the index's segments that still held deleted points when all of an erasure's were gone;
-- NULL until that has been looked at. Random names of the server's, nothing of a subject.
ALTER TABLE erasures ADD COLUMN segments text[];
