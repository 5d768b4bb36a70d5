-- deploy: before
-- Which space the projects are to be in, and when each was looked through whole.
ALTER TABLE instance ADD COLUMN space_id integer;
ALTER TABLE project ADD COLUMN swept_at timestamptz;
