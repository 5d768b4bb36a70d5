"""Every node of the syntax tree is of a listed kind: what the parser may learn to read tomorrow is refused until it is listed."""

from typing import Final

from sqlglot import exp

from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection
from service.sqltool.rules.place import place

_QUERY: Final = (
    exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Values, exp.Subquery, exp.With, exp.CTE, exp.From, exp.Join, exp.Lateral,
    exp.Table, exp.TableAlias, exp.Unnest, exp.Where, exp.Group, exp.GroupingSets, exp.Rollup, exp.Cube, exp.Having, exp.Order,
    exp.Ordered, exp.Distinct, exp.Limit, exp.LimitOptions, exp.Offset, exp.Fetch, exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup,
)  # fmt: skip
_VALUES: Final = (
    exp.Identifier, exp.Column, exp.Star, exp.Alias, exp.Literal, exp.RawString, exp.ByteString, exp.Null, exp.Boolean,
    exp.Tuple, exp.Paren, exp.Array, exp.Bracket, exp.Slice, exp.Case, exp.If, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Interval,
    exp.IntervalSpan, exp.Var, exp.Collate, exp.AtTimeZone, exp.Exists, exp.Any, exp.All, exp.JSONPath, exp.JSONPathKey, exp.JSONPathRoot,
    exp.JSONPathSubscript,
)  # fmt: skip
_OPERATORS: Final = (
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.In, exp.Between, exp.NullSafeEQ,
    exp.NullSafeNEQ, exp.Like, exp.ILike, exp.SimilarTo, exp.Escape, exp.RegexpLike, exp.RegexpILike, exp.StartsWith, exp.Add, exp.Sub,
    exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.Neg, exp.DPipe, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot,
    exp.BitwiseLeftShift, exp.BitwiseRightShift, exp.Overlaps, exp.MatchAgainst, exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract,
    exp.JSONBExtractScalar, exp.JSONBContainsTopKey, exp.JSONBContainsAnyTopKeys, exp.JSONBContainsAllTopKeys, exp.JSONBDeleteAtPath,
    exp.JSONBPathExists, exp.ArrayContainsAll, exp.ArrayContainedBy, exp.ArrayOverlaps, exp.Distance,
)  # fmt: skip
# What the parser makes of the calls in allowed_functions.py; which functions those are is checked by their names in the text.
_CALLS: Final = (
    exp.Abs, exp.Anonymous, exp.AnyValue, exp.ArrayAgg, exp.ArrayAppend, exp.ArrayConcat, exp.ArrayPosition, exp.ArrayPrepend,
    exp.ArrayRemove, exp.ArraySize, exp.ArrayToString, exp.Ascii, exp.Avg, exp.BitLength, exp.Cbrt, exp.Ceil, exp.Chr, exp.Coalesce,
    exp.Concat, exp.ConcatWs, exp.Corr, exp.Count, exp.CovarPop, exp.CovarSamp, exp.CumeDist, exp.CurrentDate, exp.CurrentTime,
    exp.CurrentTimestamp, exp.Date, exp.DateBin, exp.Degrees, exp.DenseRank, exp.Exp, exp.Explode, exp.ExplodingGenerateSeries,
    exp.Extract, exp.FirstValue, exp.Floor, exp.Greatest, exp.GroupConcat, exp.Grouping, exp.Hex, exp.Initcap, exp.JSONArrayAgg,
    exp.JSONBObjectAgg, exp.JSONObjectAgg, exp.JustifyDays, exp.JustifyHours, exp.JustifyInterval, exp.Lag, exp.LastValue, exp.Lead,
    exp.Least, exp.Left, exp.Length, exp.Ln, exp.Localtime, exp.Localtimestamp, exp.Log, exp.LogicalAnd, exp.LogicalOr, exp.Lower,
    exp.MD5, exp.MakeInterval, exp.Max, exp.Min, exp.Mode, exp.Normalize, exp.NthValue, exp.Ntile, exp.Nullif, exp.Overlay,
    exp.PercentRank, exp.PercentileCont, exp.PercentileDisc, exp.Radians, exp.Rand, exp.Rank, exp.RegexpCount, exp.RegexpInstr,
    exp.RegexpReplace, exp.RegexpSubstr, exp.RegrIntercept, exp.RegrSlope, exp.Replace, exp.Reverse, exp.Right, exp.Round, exp.RowNumber,
    exp.Sign, exp.SplitPart, exp.Sqrt, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.StrPosition, exp.StrToDate, exp.StrToTime,
    exp.StringToArray, exp.Substring, exp.Sum, exp.TimeFromParts, exp.TimeToStr, exp.TimestampFromParts, exp.TimestampTrunc,
    exp.ToNumber, exp.Translate, exp.Trim, exp.Trunc, exp.UnixToTime, exp.Upper,
    exp.Variance, exp.VariancePop, exp.WidthBucket,
)  # fmt: skip
CONSTRUCTS: Final = frozenset((*_QUERY, *_VALUES, *_OPERATORS, *_CALLS))


def check(question: Question) -> None:
    """Raises `SqlRejection` for the first node of an unlisted kind."""
    for node in question.tree.walk():
        if type(node) in CONSTRUCTS:
            continue
        if isinstance(node, exp.Dot):
            raise SqlRejection(
                "A name or a field is qualified in a way that is not read here.",
                blocked_by="name",
                hint="Write functions, types and views by their own name, and columns as column or alias.column.",
                at=place(node),
            )
        raise SqlRejection(
            f"{node.key.upper()} is not among what a query may use here.",
            blocked_by="construct",
            hint="Queries read the views with SELECT, WITH, VALUES, joins, grouping, windows, and the listed functions.",
            at=place(node),
        )
