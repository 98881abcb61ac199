"""Every tuned number of a hunt: what it limits, its unit, where its value comes from and what it changes.

"Budget" is the wall-clock time of the hunt; a share is a part of it between 0 and 1. "Compared: 226, 228, 226":
benchmarks/limits.py made the same 60 simulated hunts with about half the value, the value and twice the value, and
so many of the 287 planted tests were proven with the right kind; benchmarks/RESULTS.md has the table.
"""

from __future__ import annotations

# --- Search: the first runs of a hunt ----------------------------------------------------------------------------

# Runs in the original order before anything else, the reference run included. A suspect needs three of them before
# anything is concluded about it (`diagnosis`), so that a hunt without `--technique rerun` makes as many too.
FIRST_ORIGINAL_RUNS = 3

# Other orders in the first look at the suite: the reversed order and one order by class. Until they are over,
# expensive follow-up runs wait. Without this first look, one of eight labelled tests of devtracker was missed
# (decision 0024).
FIRST_LOOK_ORDERS = 2

# Other orders before anything else is repeated: those two and one by file, one order of each kind.
FIRST_ORDERS = 3

# What the first round adds, in runs: so many other orders, runs in the original order, and runs of the original
# order under other hash seeds. A few of each, because no prior knowledge predicts which of them will show
# something: without them the hash-seed test of the example suite was missed (decision 0024). Compared:
# 226, 228, 226; 228, 228, 226; 226, 228, 226.
FIRST_ROUND_ORDERS = 4
FIRST_ROUND_ORIGINAL_RUNS = 6
FIRST_ROUND_HASH_SEEDS = 6

# The same with `--isolation spawn`, where every run starts an interpreter: runs of whole orders come in two equal
# rounds of five runs each, as a hunt by default has time for 30. Compared: 107, 105, 107; 106, 105, 106;
# 107, 105, 105.
SPAWN_FIRST_ORIGINAL_RUNS = 2
SPAWN_ROUND_ORDERS = 3
SPAWN_ROUND_ORIGINAL_RUNS = 2

# Runs alone of a test that failed in the user's own pytest runs. A test that fails in half of its runs stays
# unseen in 8 runs one time in 256.
RUNS_OF_EARLIER_FAILURES = 8

# A single run about one test (a follow-up of a suspect, a second execution in one process) that takes longer than
# this share of the budget waits until the first look is over, so that one slow test cannot starve the others: a
# hundred such runs would take the whole budget. Compared: 228, 228, 231, with one wrong statement at twice the
# value.
MAX_EARLY_RUN_SHARE = 0.01

# With less than this share of the budget left, expensive follow-up runs wait no longer, even if the first look is
# not over: half of the time stays for proofs. Compared: 228, 228, 234, with one wrong statement at 1.0.
MIN_LEFT_SHARE_FOR_WAITING = 0.5

# --- Search: how often each technique runs -----------------------------------------------------------------------

# Runs in the original order of a hunt without `--budget`. A test that fails in 8 % of its runs is seen failing
# with a probability of 96 % (1 - 0.92**40). More runs find rarer failures; `--budget` has no such limit.
MAX_ORIGINAL_RUNS = 40

# Hash seeds other than the session's own. A test that fails for half of all hash seeds stays unseen one time in
# 4096 (0.5**12). Each costs a new interpreter and a whole run, so that there is a limit in every hunt (decision
# 0009).
MAX_HASH_SEEDS = 12

# Further runs alone of each test in a hunt without `--budget`. A test that fails alone in 22 % of its runs is seen
# failing with a probability of 95 % (1 - 0.78**12).
MAX_RERUNS_ALONE = 12

# Plain random orders after the systematic ones in a hunt without `--budget`. 20 are the shuffles of iDFlakies that
# decision 0004 compares with: they exposed 2 of 12 victims in one real suite, hence only after the systematic
# orders.
MAX_PLAIN_SHUFFLES = 20

# Systematic orders between two plain shuffles: shuffles show what needs a third test between two others, which
# is rare. Compared: 224, 228, 225.
SYSTEMATIC_ORDERS_PER_SHUFFLE = 4

# Largest suite, in tests, in which each test is also put first once. That takes as many runs of the suite as it
# has tests. Compared: no hunt changed.
MAX_TESTS_FOR_EACH_FIRST = 100

# Orders in a row that were all made before, after which there are taken to be no others. A tiny suite has few
# orders: with the 6 of three tests, a missing one is drawn within 200 shuffles all but always (1 - (5/6)**200).
MAX_REPEATED_ORDERS_IN_A_ROW = 200

# Replaces a limit in hunts that go on until their budget is spent; larger than any hunt's number of runs.
UNLIMITED_RUNS = 1_000_000

# --- Search: batches of runs -------------------------------------------------------------------------------------

# Expected seconds of work in one plan of many short runs. Follow-ups of what such a plan shows wait for its end,
# so it is short; each plan costs one exchange with the collected session (about a millisecond), so it is not
# shorter.
MAX_BATCH_S = 1.0

# Runs in one batch, and tests in one group of likely tests. 64 share one process in decision 0024: where a fork
# takes 5 ms and the median test 1 ms, its share of the fork is then below a tenth of the test's own time.
MAX_BATCH_SIZE = 64

# --- Search: PAIRWISE --------------------------------------------------------------------------------------------

# Share of the time left, on all jobs, that the exact form of PAIRWISE may take; else the grouped form is taken if
# that fits, else none (docs/internals/techniques.md). The estimate may be wrong by a factor of
# two. Compared: 228, 228, 227, with 48, 54 and 65 thousand processes.
MAX_PAIRS_SHARE = 0.5

# Possible polluters that run before each victim in the grouped form over the whole suite. More save runs and hide
# more: with groups of 12, 23 of 40 planted pairs with cleaners nearby were found (decision 0012).
POLLUTERS_PER_GROUP = 12

# Chains of cases in one plan, see `search/pairs.py`. Keeps such a plan about as long as a batch: with ten cases of
# some milliseconds each a dozen chains take about a second.
MAX_CHAINS_PER_PLAN = 12

# --- Search: by expected gain (`--policy index`) -----------------------------------------------------------------

# Parts of the suite, from its quickest to its slowest tests, by which orders of a part of the tests are counted.
# The three sizes of orders of quick tests had 16, 53 and 97 % of the tests of pandas, 48, 78 and 97 % of xarray.
ORDER_PARTS = 5

# Least share of the time, after the first round, that follows the fixed stages whatever the index says. With a
# quarter, what the stages would find is found at worst four times as late (decision 0024).
MIN_STAGES_SHARE = 0.25

# The first look of the stages is left out where it would take more than this share of the budget on all jobs
# (decision 0024): on a suite with few runs in its budget the index chooses better.
MAX_FIRST_LOOK_SHARE = 0.34

# The first round ends when it has taken this share of the budget (decision 0024).
MAX_FIRST_ROUND_SHARE = 0.4

# A batch takes no test whose index is below this share of the largest index in it (decision 0024: "at least half
# of the largest"). Lower values make fewer, larger batches of less likely tests.
MIN_INDEX_SHARE_IN_BATCH = 0.5

# --- Search: when a hunt by expected gain ends early -------------------------------------------------------------

# A hunt ends early only if all of its time left is expected to show fewer flaky tests than this (decision 0024).
MIN_EXPECTED_DETECTIONS = 0.001

# ... and only if each test passed so often that a higher failure rate is ruled out at 95 %: 299 runs (decision
# 0024; flask-ipban's test that fails once in 280 runs was missed before).
MAX_UNSEEN_FAILURE_RATE = 0.01

# How many times during a hunt that is decided, at equal distances. Each time costs a forecast over the whole
# suite; a hunt ends at most a twelfth of its time later than it could.
EARLY_END_CHECKS = 12

# Equal parts of the time that a forecast distributes one after another, each to the kind of run that gains most
# (decision 0024). More parts are more exact and slower.
FORECAST_STEPS = 16

# Tests that a forecast looks at; in a larger suite a random sample of this size stands for all. Keeps a forecast
# below a tenth of a second in a suite of 20,000 tests.
MAX_FORECAST_TESTS = 300

# Shares of the tests, those with the largest index, that a forecast may spend time on besides on all of them. A
# good prior has most of the flaky tests among its first twentieth. Compared: no hunt changed.
FORECAST_BEST_SHARES = (0.25, 0.05)

# What a suite has shown beyond expectation is expected of the rest of it too: (found + c) / (expected + c) times
# the prior. With c = 0.5 one finding in a small suite, where hardly any was expected, counts three times the
# prior, and nothing found counts as nothing known. Compared: no hunt changed.
SUITE_FACTOR_CAUTION = 0.5  # flaky tests

# Largest such factor (docs/research/policies.md). Keeps a suite full of failures from counting every other test
# as flaky.
MAX_SUITE_FACTOR = 20.0

# --- Agenda: what waits for what ---------------------------------------------------------------------------------

# With less than this share of the budget left, proven cases are completed (all polluters, state-setters,
# cleaners) before the search goes on. What is already found helps a reader more than a little more search.
# Compared: 229, 228, 227.
COMPLETION_SHARE = 0.3

# Follow-up runs whose tests differ by less than this many seconds keep their sequence; beyond it, cheap ones come
# first. It has to be larger than the noise of measured test times (some milliseconds) and smaller than a slow
# test. Compared: 233, 228, 227.
EQUAL_COST_S = 0.25

# Tests that seem to fail under load and are still examined with runs of their own; with every further such group
# half as many runs go at once. In a suite with ten of them, the NOD test was then found in 3 of 3 hunts instead
# of 5 of 14 (decision 0031).
MAX_LOAD_CASES = 3

# Questions of one search that are put at once, if there are as many jobs. Delta debugging asks about two halves,
# so two answers are used in every round; of more, some would be made in vain. Compared: 233, 228, 229.
MAX_QUESTIONS_AT_ONCE = 2

# Polluters of other tests that are tried first in each new case, the most frequent ones. Each costs one short
# run; halving costs about two per doubling of the suite, so that four pay wherever one of them is right in two
# cases of three. Compared: 229, 228, 228.
MAX_KNOWN_POLLUTERS = 4

# The same for tests that, by what they leave and what the victim mentions, are the only possible polluters: where
# there are more of them, halving is cheaper than trying each. Compared: 227, 226, 226.
MAX_SHARING_CANDIDATES = 4

# --- Diagnosis: when something is proven -------------------------------------------------------------------------

# A difference between two failure rates that chance alone produces more often than this proves nothing (Fisher's
# exact test). 1 % because a hunt concludes about tens of tests; 5 % would name a wrong cause every other hunt.
MAX_CHANCE = 0.01

# Runs in the original order and alone before anything is concluded from their agreement. The least that leaves a
# majority when one of them is an exception; whatever is concluded is confirmed by more runs.
CLEAN_RUNS = 3

# Runs that must agree before a result is printed, and where a run takes less than `CHEAP_RUN_S`. Together with as
# many of the opposite outcome, 5 against 5 are chance in 1 of 252 cases, below `MAX_CHANCE`; 3 against 3 in 1 of
# 20, hence more passes alone are made until `MAX_CHANCE` holds (docs/internals/techniques.md, "Confirmations").
CONFIRMATIONS = 3
CHEAP_CONFIRMATIONS = 5

# Seconds that the tests of one run take below which it is cheap: more confirmations and alternations, fewer
# detours. Ten such runs take less time than one start of a slow suite. Compared: 227, 228, 225.
CHEAP_RUN_S = 0.5

# Confirmations where failures name times or other fractions, never the same, unless they would take longer than
# so many seconds. Such a failure is a rate rather than a rule: a test that fails in 80 % of its runs fails 20
# times in a row in 1 % of the cases (0.8**20), 5 times in a row in 33 %.
MEASURED_CONFIRMATIONS = 20
MAX_MEASURED_PROOF_S = 30.0

# Failures and passes in turn before an order is taken for the reason, and where a run is cheap. One slow period
# of the machine makes two or three alternations. With them, the simulated hunts that had called a test in slow
# periods a victim no longer do (tests/hunt/test_hunt_proof.py); more only cost runs.
ALTERNATIONS = 4
CHEAP_ALTERNATIONS = 6

# Runs after the same tests, and alone, where both outcomes were seen: against ten passes, six failures of ten are
# beyond chance (Fisher's exact test, 0.5 %; 1.6 % for five), fewer with passes in the original order.
RUNS_OF_MIXED_OUTCOMES = 10

# Runs alone that are made at most to rule out chance: 3 failures of 10 after other tests take 33 passes, 2 of 10
# take 86, hence rarer victims stay NOD.
MAX_CLEAN_RUNS = 40

# The same where the runs after other tests agree: even one of them takes only 99 runs of the other outcome, so
# that this never decides.
MAX_PROOF_RUNS = 100

# Runs per question of a search about a victim that fails only sometimes: as many as show a failure with 99 % at
# its lowest likely rate, which is taken to be at least the first and at most the second of these rates. 30 runs
# miss a rate of 10 % in 4 % of the questions and one of 14 % in 1 %.
MAX_RUNS_PER_QUESTION = 30
MIN_ASSUMED_POLLUTION_RATE = 0.1
MAX_ASSUMED_POLLUTION_RATE = 0.9

# Seconds that one question about a test that is proven NOD may take, in the search for a polluter that would make
# it a victim after all (docs/internals/techniques.md, "Probabilistic pollution"): the test is reported
# anyway. Compared: 228, 228, 228.
MAX_QUESTION_S = 2.0

# New interpreters in which a brittle test must fail alone as well; more where its failures name times, because a
# fork starts with cold memory. Four agreed for a test of runium that fails in 70 % or less of plain runs, and it
# was called brittle; with twelve it was not, in two of two hunts (benchmarks/RESULTS.md; 0.7**12 is 1 %).
NEW_INTERPRETERS = 4
MEASURED_NEW_INTERPRETERS = 12

# Seconds of new interpreters, up to twelve of them, that show whether a test that differs between forks and new
# interpreters also differs between new interpreters, as one that depends on an address does: at a rate of 20 %
# one of twelve fails with 93 %. The second is the number of tests for which they are started: where more tests
# differ, it is the forks.
MAX_NEW_INTERPRETERS_S = 40.0
MAX_ARTEFACT_CASES = 3

# Seconds that the start of an interpreter and the collection take from which on fewer of them suffice for a test
# whose failures name no times: only what every fork inherits could mislead there, and one new interpreter in which
# the test fails rules that out; the second is for a failure by chance.
EXPENSIVE_START_S = 2.0
EXPENSIVE_NEW_INTERPRETERS = 2

# Runs beyond the number asked for after which a test that skips itself, or never gets its turn, is asked no more.
# Two, because one run may be lost to an unrelated crash.
MAX_RUNS_WITHOUT_OUTCOME = 2

# --- Diagnosis: load or chance -----------------------------------------------------------------------------------

# Undisturbed runs of one order whose failures all had other runs beside them, in runs and in seconds, because
# nothing else runs beside them (decision 0031). 60 passes rule out a failure rate of 7.4 % (0.926**60 is 1 %).
MAX_UNDISTURBED_RUNS = 60
MAX_UNDISTURBED_S = 5.0

# The least number of them, where they fit into that time, and whatever they cost. Five failures beside others
# against five passes are below `MAX_CHANCE`; after two passes a test seems to fail under load. Compared: 228 each.
MIN_UNDISTURBED_RUNS = 5
MIN_EXPENSIVE_UNDISTURBED_RUNS = 2

# Where load is not proven, but such counts are less likely than this by chance alone, a test that failed only
# beside other runs stays unresolved; else it is NOD by definition, since it passed and failed in one order.
MAX_CHANCE_OF_LIKELY_LOAD = 0.05

# Undisturbed runs alone before an expensive order is repeated: a NOD test that fails in 37 % of its runs shows
# within ten with 99 %. Compared: 229, 228, 230.
UNDISTURBED_RUNS_ALONE = 10

# Runs beside others, after undisturbed passes, in which a test has to fail again before load is taken for the
# reason; fewer if it fails there often. A failure rate of 14 % shows within 20 runs with 95 %.
MAX_RUNS_UNTIL_LOAD_FAILURE = 20

# Runs beside others that the failure rate there is estimated from: ten put it within 27 points (Wilson, 95 %).
DISTURBED_RUNS = 10

# Undisturbed repetitions with the failing seed before other seeds are tried: if the seed decides, the first one
# fails; the second is for a test that chance decides as well. Compared: 228, 228, 227.
EXACT_REPLAYS = 2

# --- Diagnosis: seeds and forks ----------------------------------------------------------------------------------

# Runs with one hash seed, or one random seed, that must agree; of a random seed more, up to the second number,
# where the test often fails with others too, and beyond it no cause is named. Three as for `CONFIRMATIONS`; 39
# failures in a row rule out chance where the test failed in up to 33 of 40 other runs.
SAME_SEED_RUNS = 3
MAX_SAME_SEED_RUNS = 40

# Forks without exception that are compared with `SAME_SEED_RUNS` new interpreters without exception: 10 against 3
# are chance in 1 of 286 cases, below `MAX_CHANCE`; 7 would be the least (1 of 120).
FORKS_TO_COMPARE = 10

# --- Diagnosis: the search for the tests that decide -------------------------------------------------------------

# Earlier tests from which on one walk with stops is quicker than halving: with seven or fewer, halving
# takes three rounds at most. Decision 0013 has the idea. Compared: 228, 228, 228.
MIN_WALK_LENGTH = 8

# Tests between two stops below which there is no further walk: the single tests are tried at once instead.
# Compared: 228, 228, 229.
MIN_WALK_WINDOW = 6

# Stops of a walk: about the square root of the tests (decision 0013), at least three, and no more than cost
# as much as the walk itself or so many seconds. Compared: 227, 228, 230; 228, 228, 228.
MIN_WALK_STOPS = 3
MIN_WALK_STOPS_S = 0.2

# Tests in a guess that is tried before such a walk. A longer guess takes about as long as the walk. Compared: 228,
# 228, 229.
MAX_GUESS_BEFORE_WALK = 3

# Seconds that the tests of a prefix take from which on it is expensive: known polluters and a part without its
# slowest tests are tried first, and a run that only repeats what is nearly known is left out. A detour
# of one or two cheap runs (`CHEAP_RUN_S`) must cost less than it saves. Compared: 229, 228, 228.
EXPENSIVE_PREFIX_S = 1.0

# Share of the time of an expensive prefix from which on one of its tests is left out of that part: at most five
# tests can have it, so that most tests stay. Compared: 230, 228, 229.
EXPENSIVE_TEST_SHARE = 0.2

# --- What is shown -----------------------------------------------------------------------------------------------

# State changes named in a verdict: those shared with its polluters, and those the test leaves. Keeps a verdict
# readable; the first of them is the likeliest.
MAX_SHARED_CHANGES_SHOWN = 3
MAX_LEFT_CHANGES_SHOWN = 10

# --- Before the search: what is read, measured and traced --------------------------------------------------------

# Scores of lint's model, and of the model of measured features: the share of the budget that they may take, and
# the seconds they are expected to take: start, each test, first fit of a model (docs/research/policies.md).
MAX_SCORES_SHARE = 0.02
SCORES_START_S = 1.5
SCORES_TEST_S = 0.002
MODEL_FIT_S = 4.0

# A traced run of the suite that nobody asked for may take this share of the budget (decision 0028). It is ended at
# twice that, as the expectation is rough.
MAX_SUITE_TRACE_SHARE = 0.05

# Tests whose times or features are ranked: among fewer, a rank says nothing (docs/research/policies.md).
MIN_RANKED_TESTS = 10

# Probability above which no model is believed. Runs must still be able to prove it wrong. Compared, at 0.95 and
# 0.999: 229, 232, 232.
MAX_SCORED_PRIOR = 0.99

# Measured runs of every test in a hunt with `--measure` or `--policy cannier`, whose features are their means.
MEASURED_RUNS = 3

# Tests that failed in the user's own runs and are therefore examined first, and how many of them the report names.
# Compared: 213, 213, 212, with 1, 1 and 2 wrong statements; five names fit a few lines.
MAX_EARLIER_FAILURES = 50
MAX_EARLIER_FAILURES_SHOWN = 5

# --- After the search: causes ------------------------------------------------------------------------------------

# Share of the budget that is reserved for causes (at least a second of budgets from ten seconds on), and its limit
# in seconds. Proofs come first, and unproven cases may use the reserve. Compared: 230, 234, 231; 234, 234, 234.
CAUSES_SHARE = 0.05
MAX_CAUSES_S = 15.0

# Flaky tests that are traced, and runs to see one of them pass that failed.
MAX_TRACED_TESTS = 40
MAX_PASSING_ATTEMPTS = 4

# Polluters or state-setters of one test whose changes are compared with what it reads; and tests without an effect
# on it, whose changes are therefore not the cause.
MAX_COMPARED_CULPRITS = 3
MAX_COMPARED_HARMLESS = 2
