-- A handle's points are paged through in their order; by this index that costs what the handle has.
CREATE INDEX vectors_handle_point ON vectors (handle, point);
DROP INDEX vectors_handle;
