-- name: describe_server
-- Version and locale of the server, and what it knows of the extension `vector`. lc_ctype breaks lower() outside ASCII when it is C.
SELECT current_setting('server_version_num')::integer AS version,
    current_setting('server_version') AS version_text,
    d.datcollate, d.datctype, d.datlocprovider::text AS provider, pg_encoding_to_char(d.encoding) AS encoding,
    (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'vector') AS installed,
    (SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector') AS vector_schema,
    (SELECT a.default_version FROM pg_available_extensions AS a WHERE a.name = 'vector') AS available
FROM pg_database AS d WHERE d.datname = current_database();

-- name: describe_owner
-- Whether this login can do what a set-up needs.
SELECT r.rolname, r.rolsuper, r.rolcreaterole, r.rolbypassrls,
    has_database_privilege(current_database(), 'CREATE') AS can_create
FROM pg_roles AS r WHERE r.rolname = session_user;

-- name: rights_of_all
-- What PUBLIC, and so every role here, may make in this database: temporary tables, and objects in the schema public.
SELECT EXISTS (
    SELECT FROM aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) AS a WHERE a.grantee = 0 AND a.privilege_type = 'TEMPORARY'
) AS temporary, EXISTS (
    SELECT FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
    WHERE n.nspname = 'public' AND a.grantee = 0 AND a.privilege_type = 'CREATE'
) AS creating
FROM pg_database AS d WHERE d.datname = current_database();

-- name: lock_migrations
-- One migration run at a time on a database; held until the session ends.
SELECT pg_advisory_lock(hashtextextended('muniment migrate', 0));

-- name: lock_schema
-- One migration at a time on a schema; held until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended($1, 1));

-- name: set_timeouts
-- A migration that waits for a lock would make everybody behind it wait too: it gives up, and the next run finishes it.
SELECT set_config('lock_timeout', '10s', true), set_config('statement_timeout', '10min', true);

-- name: schema_exists
-- Whether a schema stands.
SELECT to_regnamespace($1) IS NOT NULL AS found;

-- name: ledger_exists
-- Whether the schema on the search path has a ledger.
SELECT to_regclass('migration') IS NOT NULL AS found;

-- name: ledger
-- What has been applied to the schema on the search path.
SELECT name FROM migration;

-- name: note_migration
-- Writes one migration into the ledger of the schema on the search path.
INSERT INTO migration (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET applied_at = now();

-- name: forget_functions
-- Drops the ledger's rows of earlier texts of the functions.
DELETE FROM migration WHERE name LIKE 'functions:%' AND name <> $1;

-- name: set_search_path
-- Names in what follows are the schema's own, until the transaction ends.
SELECT set_config('search_path', $1, true);

-- name: find_instance
-- This installation.
SELECT tag, api_login, vector_schema FROM control.instance;

-- name: add_instance
-- Names this installation, once.
INSERT INTO control.instance (tag, api_login, vector_schema) VALUES ($1, $2, $3);

-- name: update_instance
-- Notes the API's login and where the extension is.
UPDATE control.instance SET api_login = $1, vector_schema = $2;

-- name: save_template
-- The text that create_project runs.
INSERT INTO control.template (name, sql) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET sql = excluded.sql;

-- name: add_reader
-- Makes or renews a project's reader role and its function.
SELECT control.add_reader($1, $2);

-- name: close_functions
-- Takes the functions of a schema from PUBLIC.
SELECT control.close_functions($1);

-- name: find_role
-- A role by name.
SELECT r.rolname, r.rolcanlogin, r.rolsuper, r.rolbypassrls, r.rolinherit FROM pg_roles AS r WHERE r.rolname = $1;

-- name: roles_not_held
-- The roles of workspaces that a login is not a member of. Granting what is granted already takes time for nothing.
SELECT w.role FROM control.workspace AS w LEFT JOIN pg_roles AS r ON r.rolname = w.role
WHERE w.role IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_auth_members AS m JOIN pg_roles AS l ON l.oid = m.member WHERE m.roleid = r.oid AND l.rolname = $1
) ORDER BY w.id;

-- name: ledgers
-- What has been applied to each of some projects; names are null where the ledger cannot be read.
SELECT project_id, names FROM control.find_ledgers($1);

-- name: all_projects
-- Every project with its workspace's role.
SELECT p.id, p.slug, w.slug AS workspace, w.role FROM control.project AS p JOIN control.workspace AS w ON w.id = p.workspace_id ORDER BY p.id;

-- name: roles_missing
-- The roles of workspaces that are not there: the workspaces come from a backup, which holds no roles.
SELECT w.role FROM control.workspace AS w
WHERE w.role IS NOT NULL AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = w.role) ORDER BY w.id;

-- name: control_is_bare
-- Whether nobody has a right on control, as in a new database or one from a backup.
SELECT n.nspacl IS NULL AS found FROM pg_namespace AS n WHERE n.nspname = 'control';

-- name: bare_projects
-- Those of some projects that come from a backup: their workspace's role may not enter, or the reader's function is the owner's.
SELECT p.id
FROM control.project AS p JOIN control.workspace AS w ON w.id = p.workspace_id JOIN pg_roles AS r ON r.rolname = w.role
    CROSS JOIN control.instance AS i
    JOIN pg_namespace AS n ON n.nspname = 'm_' || p.id
WHERE p.id = ANY($1::bigint[]) AND (
    NOT has_schema_privilege(r.oid, n.oid, 'USAGE')
    OR EXISTS (
        SELECT FROM pg_proc AS f JOIN pg_roles AS o ON o.oid = f.proowner
        WHERE f.pronamespace = n.oid AND f.proname = n.nspname || '_read_rows' AND o.rolname <> format('mun_%s_r%s', i.tag, p.id)
    )
);

-- name: grant_project
-- Lets a workspace's role into a project's schema and its tables of vectors.
SELECT control.grant_project($1, $2);
