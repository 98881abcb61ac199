"""The store: every run of a project's tests in one SQLite file."""

from flakehound.store.errors import (
    NoSuchSession,
    StoreBroken,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreTooNew,
    StoreUnwritable,
)
from flakehound.store.features import SourceFeatures
from flakehound.store.merge import MergeCount
from flakehound.store.session_settings import SessionCommand, SessionSettings
from flakehound.store.sessions import SessionInfo
from flakehound.store.store import Store

__all__ = [
    "MergeCount",
    "NoSuchSession",
    "SessionCommand",
    "SessionInfo",
    "SessionSettings",
    "SourceFeatures",
    "Store",
    "StoreBroken",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreMissing",
    "StoreTooNew",
    "StoreUnwritable",
]
