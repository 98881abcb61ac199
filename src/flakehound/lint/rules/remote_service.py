"""A database, queue or cloud that runs elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_each_function, uses
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_PREFIXES = (
    "boto3.", "botocore.session.", "redis.Redis", "redis.StrictRedis", "redis.from_url", "aioredis.",
    "pymongo.MongoClient",
    "motor.", "psycopg2.connect", "asyncpg.connect", "pymysql.connect", "MySQLdb.connect",
    "mysql.connector.", "elasticsearch.",
    "docker.from_env", "docker.DockerClient", "docker.APIClient", "kazoo.client.", "pika.", "kafka.",
    "memcache.Client",
    "google.cloud.", "azure.", "cassandra.cluster.", "ldap3.Connection", "tweepy.", "github.Github",
    "slack.", "slackclient.",
    "praw.", "hvac.Client", "consul.", "etcd", "influxdb.", "firebase_admin.", "kubernetes.", "web3.Web3",
    "openai.", "ccxt.",
    "googleapiclient.", "pymssql.connect", "pyodbc.connect", "cx_Oracle.connect", "paho.mqtt.",
    "serial.Serial", "usb.core.",
)  # fmt: skip
_MOCKED = (
    "moto.",
    "fakeredis.",
    "mongomock.",
    "responses.",
    "vcr",
    "placebo.",
    "testing.",
    "botocore.stub",
    "requests_mock",
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, (), _PREFIXES):
        yield sign_for(call, "{} talks to a service outside the process")


RULE = LintRule(
    id="FH402",
    name="remote-service",
    cause=Cause.NETWORK,
    title="A service outside the process is used",
    why="The service must run, be reachable, answer in time, and hold what the last run left in it.",
    fix="Use a double in the process (moto, fakeredis, mongomock), or start the service in a fixture "
    "and wait until it is ready.",
    bad="import redis\n\ndef test_cache():\n    assert redis.Redis().ping()\n",
    good="import fakeredis\n\ndef test_cache():\n    assert fakeredis.FakeRedis().ping()\n",
    check=in_each_function(_find, in_far_calls=True, unless=uses(*_MOCKED)),
)
