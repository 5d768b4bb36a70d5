"""What an import tells about the lines and files that it could not take as they are."""

import msgspec

# Nothing is lost by these: an import with no other report has succeeded.
_NOTES = frozenset({"blank_line", "duplicate_id", "hidden", "ignored_files", "left_out", "replaced", "symlink"})
# What these tell of was stored, if not quite as it was written.
_CHANGES = frozenset({"bad_name", "front_matter", "invalid_timestamp", "invalid_utf8", "link_lost"})


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

    @property
    def is_loss(self) -> bool:
        """Whether a line or a file was not stored at all."""
        return self.is_fault and self.code not in _CHANGES
