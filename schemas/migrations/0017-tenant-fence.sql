-- Set when a whole tenant is erased: it holds for people who were never heard of before, too.
ALTER TABLE tenants ADD COLUMN fence jsonb NOT NULL DEFAULT '{}', ADD COLUMN fenced_at timestamptz;
