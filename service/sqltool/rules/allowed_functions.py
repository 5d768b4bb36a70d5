"""The functions that a query may call: they compute from their arguments alone, have no effects, and run no SQL text.

In: nothing. Out: `FUNCTIONS`. Left out although harmless in themselves: what makes a huge value of a small one (repeat, lpad, format).
"""

from typing import Final

_TEXT: Final = """
    ascii bit_length btrim char_length character_length chr concat concat_ws initcap left length lower ltrim md5 normalize octet_length
    overlay position quote_literal regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array
    regexp_split_to_table regexp_substr replace reverse right rtrim split_part starts_with string_to_array string_to_table strpos substr
    substring to_char to_hex to_number translate trim upper
"""
_NUMBERS: Final = """
    abs cbrt ceil ceiling degrees div exp floor greatest least ln log mod power radians random round sign sqrt trunc width_bucket
"""
_TIMES: Final = """
    age date date_bin date_part date_trunc extract isfinite justify_days justify_hours justify_interval make_date make_interval make_time
    make_timestamp make_timestamptz now timezone to_date to_timestamp
"""
_AGGREGATES: Final = """
    any_value array_agg avg bool_and bool_or corr count covar_pop covar_samp every grouping json_agg json_object_agg jsonb_agg
    jsonb_object_agg max min mode percentile_cont percentile_disc regr_intercept regr_slope stddev stddev_pop stddev_samp string_agg sum
    var_pop var_samp variance
"""
_WINDOWS: Final = "cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number"
_LISTS: Final = """
    array_append array_cat array_length array_lower array_ndims array_position array_positions array_prepend array_remove array_replace
    array_to_json array_to_string array_upper cardinality generate_series generate_subscripts unnest
"""
_JSON: Final = """
    json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each json_each_text
    json_extract_path json_extract_path_text json_object_keys json_typeof jsonb_array_elements jsonb_array_elements_text
    jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text
    jsonb_object_keys jsonb_path_exists jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_strip_nulls
    jsonb_typeof row_to_json to_json to_jsonb
"""
_SEARCH: Final = """
    numnode phraseto_tsquery plainto_tsquery setweight strip to_tsquery to_tsvector ts_headline ts_rank ts_rank_cd tsvector_to_array
    websearch_to_tsquery
"""
_CHOICES: Final = "cast coalesce nullif"

FUNCTIONS: Final = frozenset(" ".join((_TEXT, _NUMBERS, _TIMES, _AGGREGATES, _WINDOWS, _LISTS, _JSON, _SEARCH, _CHOICES)).split())
