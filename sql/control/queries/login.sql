-- name: describe_login
-- Who is logged in, what it may bypass, and where the extension `vector` lives.
SELECT r.rolsuper, r.rolbypassrls, i.vector_schema
FROM pg_roles AS r CROSS JOIN control.describe_instance() AS i
WHERE r.rolname = session_user;
