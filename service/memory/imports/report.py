"""What an import tells about the lines and files that it could not take as they are."""

import msgspec

# Nothing is lost by these: an import with no other report has succeeded.
_NOTES = frozenset({"blank_line", "duplicate_id", "hidden", "ignored_files", "left_out", "symlink"})


class Report(msgspec.Struct, frozen=True):
    """One remark about a source: which file, which line (from 1; None: the whole file), a stable code and a sentence."""

    source: str
    line: int | None
    code: str
    message: str

    @property
    def is_fault(self) -> bool:
        """Whether something that should have been imported was lost or changed, so that success would be no plain one."""
        return self.code not in _NOTES
