"""What goes on beside the API: vectors and indexes for what was written, and the end of what is kept for a time only.

In: the owner's connection string, the provider, settings. Out: work in the database until it is told to stop.
"""

import asyncio

from service.embed.provider import EmbeddingProvider
from service.embed.worker import work
from service.settings import Settings
from service.tenants.audit import keep_trimming


async def keep_up(owner_url: str, provider: EmbeddingProvider, settings: Settings, pepper: str, stop: asyncio.Event) -> None:
    """Works until `stop` is set. `pepper` opens the keys of workspaces' providers."""
    async with asyncio.TaskGroup() as group:
        group.create_task(work(owner_url, provider, settings, pepper, stop))
        group.create_task(keep_trimming(owner_url, settings.audit_days, stop))
