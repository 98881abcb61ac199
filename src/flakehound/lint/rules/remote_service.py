"""A database, queue or cloud service outside the process is used."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.facts.surroundings import surroundings_in
from flakehound.lint.rules._checks import in_each_function, uses
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_SERVICE_PREFIXES = (
    "MySQLdb.connect",
    "aioredis.",
    "asyncpg.connect",
    "azure.",
    "boto3.",
    "botocore.session.",
    "cassandra.cluster.",
    "ccxt.",
    "consul.",
    "cx_Oracle.connect",
    "docker.APIClient",
    "docker.DockerClient",
    "docker.from_env",
    "elasticsearch.",
    "etcd",
    "firebase_admin.",
    "github.Github",
    "google.cloud.",
    "googleapiclient.",
    "hvac.Client",
    "influxdb.",
    "kafka.",
    "kazoo.client.",
    "kubernetes.",
    "ldap3.Connection",
    "memcache.Client",
    "motor.",
    "mysql.connector.",
    "openai.",
    "paho.mqtt.",
    "pika.",
    "praw.",
    "psycopg2.connect",
    "pymongo.MongoClient",
    "pymssql.connect",
    "pymysql.connect",
    "pyodbc.connect",
    "redis.Redis",
    "redis.StrictRedis",
    "redis.from_url",
    "serial.Serial",
    "slack.",
    "slackclient.",
    "tweepy.",
    "usb.core.",
    "web3.Web3",
)
_MOCKING_TOOLS = (
    "botocore.stub",
    "fakeredis.",
    "mongomock.",
    "moto.",
    "placebo.",
    "requests_mock",
    "responses.",
    "testing.",
    "vcr",
)


_CALLS_WITHOUT_ANSWER = frozenset({"aclose", "client", "close", "disconnect", "pipeline", "pubsub", "resource"})


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, (), _SERVICE_PREFIXES):
        if not call.short_name.endswith(("Error", "Exception", "Warning")):
            yield sign_for(call, "{} talks to a service outside the process", _why_weak(function, call))


def _why_weak(function: ReachedFunction, call: Call) -> str:
    """Why a call may not reach the service; "" if it asks it for something."""
    if call.short_name[:1].isupper() or call.short_name in _CALLS_WITHOUT_ANSWER or call.name.endswith("from_url"):
        return "it only makes or closes a client"
    if function.is_production:
        return "the test may have a mock"
    after_client = call.name.rpartition(")")[2]
    if after_client.count(".") > 1 or "._" in call.name or "connection_pool" in call.name:
        return "it asks a part of the client"
    if surroundings_in(function).is_expected_to_fail(call.node):
        return "it is expected to fail"
    names = {other.name for other in function.facts.calls} | set(function.facts.decorators)
    return "the test has mocks" if any("mock" in name.lower() or "patch" in name for name in names) else ""


RULE = LintRule(
    id="FH402",
    name="remote-service",
    cause=Cause.NETWORK,
    title="A service outside the process is used",
    why="The service must run, be reachable and answer in time, and it keeps data of earlier runs.",
    fix="Use a double in the process (moto, fakeredis, mongomock), or start the service in a fixture "
    "and wait until it is ready.",
    bad="import redis\n\ndef test_cache():\n    assert redis.Redis().ping()\n",
    good="import fakeredis\n\ndef test_cache():\n    assert fakeredis.FakeRedis().ping()\n",
    check=in_each_function(_find, in_far_calls=True, unless=uses(*_MOCKING_TOOLS)),
)
