-- Who may call what in control: nobody but the owner, where none is named here. {login} is the API's, {group} holds every workspace's role.
REVOKE ALL ON SCHEMA control FROM PUBLIC;
GRANT USAGE ON SCHEMA control TO {login}, {group};
GRANT USAGE ON SCHEMA {vectors} TO {login}, {group};
GRANT EXECUTE ON FUNCTION
    control.find_key(text), control.touch_key(text), control.find_projects(bigint), control.find_active(bigint[], integer),
    control.write_audit(text, bigint, bigint, text, text), control.describe_instance(), control.settle_pepper(text),
    control.add_space(text, text, integer), control.create_project(bigint, text, text, integer),
    control.drop_project(bigint, bigint),
    control.operates(bigint), control.issue_key(text, text, bytea, bigint, text, text[], bigint[], bigint, timestamptz),
    control.find_keys(bigint, bigint[], timestamptz, text, integer), control.end_key(bigint, bigint[], text),
    control.set_member(text, text, bigint, text, text, text[], timestamptz),
    control.change_member(text, text, bigint, text, text, text[], timestamptz), control.find_members(bigint, text, integer),
    control.remove_member(bigint, text), control.find_subject(text, text), control.find_workspaces(bigint, text, integer),
    control.find_governed(bigint, text), control.open_workspace(text, bigint, text, text, text, bytea, text[], timestamptz),
    control.rename_workspace(bigint, text, text, text), control.set_quota(bigint, text, jsonb),
    control.begin_closing(bigint, text), control.close_workspace(bigint, text), control.rename_project(bigint, bigint, text, text), control.find_usage(bigint)
    TO {login};
GRANT EXECUTE ON FUNCTION control.mark_due(bigint) TO {group};
REVOKE ALL ON FUNCTION control.mark_due(bigint) FROM {login};    -- earlier versions gave it
GRANT EXECUTE ON FUNCTION
    control.find_embedding(bigint), control.clear_embedding(bigint), control.ask_embedding(bigint, boolean), control.find_due(bigint),
    control.embedding_totals(),
    control.set_embedding(bigint, text, text, integer, text, text, text, text, integer)
    TO {login};
GRANT EXECUTE ON FUNCTION
    control.grant_reading(text, text, bigint, bigint[], text, bigint[], timestamptz), control.find_grants(bigint, bigint[], text, text, integer),
    control.end_grant(bigint, bigint[], text), control.find_granted(text)
    TO {login};
GRANT EXECUTE ON FUNCTION control.find_audit(bigint, timestamptz, timestamptz, timestamptz, integer, integer) TO {login};
