"""The cache that `ti.init` asks for."""

from __future__ import annotations

from mlirad.runtime.cache.cache import Cache
from mlirad.runtime.cache.cleaning import Cleaning
from mlirad.runtime.config import Config


def opened_cache(config: Config) -> Cache:
    """The cache that a program was asked for; IR is printed as it is made, so nothing is found."""
    cleaning = Cleaning(
        config.offline_cache_cleaning_policy,
        config.offline_cache_max_size_of_files,
        config.offline_cache_cleaning_factor,
    )
    is_on = config.offline_cache and not config.print_ir
    path = config.offline_cache_file_path if is_on else None
    return Cache(path, cleaning, is_asked_for=config.asks_for_cache)
