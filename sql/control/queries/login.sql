-- name: describe_login
-- Who is logged in, what it may bypass, where the extension `vector` lives, and whether its scans can go on (from version 0.8).
SELECT r.rolsuper, r.rolbypassrls, i.vector_schema,
    EXISTS (
        SELECT FROM pg_extension AS x WHERE x.extname = 'vector' AND (string_to_array(x.extversion, '.'))[1:2]::integer[] >= ARRAY[0, 8]
    ) AS iterative
FROM pg_roles AS r CROSS JOIN control.describe_instance() AS i
WHERE r.rolname = session_user;

-- name: show_arrays
-- A column of each type of array that answers or arguments have.
SELECT NULL::boolean[] AS a, NULL::smallint[] AS b, NULL::integer[] AS c, NULL::bigint[] AS d,
    NULL::real[] AS e, NULL::double precision[] AS f, NULL::timestamptz[] AS g, NULL::uuid[] AS h;

-- name: settle_pepper
-- The installation's tag, and by what it knows the secret of its keys: what is given where it knew none.
SELECT i.tag, control.settle_pepper($1::text) AS mark FROM control.describe_instance() AS i;
