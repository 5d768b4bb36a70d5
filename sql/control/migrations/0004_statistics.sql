-- deploy: before
-- No samples of names in the planner's statistics: those of a deleted workspace, project, key or member must be gone from there too.
ALTER TABLE workspace ALTER COLUMN slug SET STATISTICS 0, ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE project ALTER COLUMN slug SET STATISTICS 0, ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE workspace_embedding ALTER COLUMN url SET STATISTICS 0, ALTER COLUMN sealed_key SET STATISTICS 0,
    ALTER COLUMN query_prefix SET STATISTICS 0, ALTER COLUMN document_prefix SET STATISTICS 0;
ALTER TABLE api_key ALTER COLUMN hash SET STATISTICS 0, ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE member ALTER COLUMN subject SET STATISTICS 0, ALTER COLUMN added_by SET STATISTICS 0;
