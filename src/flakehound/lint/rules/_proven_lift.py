"""How much likelier a test with a finding of each rule is flaky than other tests of its project.

Written from `benchmarks/lint_rule_lift.py`, of the code before the remarks of issue 22: the larger of the lifts
within projects for NOD and for order-dependent tests, on the design projects. It is 0 for a rule whose findings
are in flaky tests of fewer than two projects: nothing is proven about it. Rules without any finding in the design
projects are missing; they count as 0, too.
"""

from __future__ import annotations

from collections.abc import Mapping

PROVEN_LIFT: Mapping[str, float] = {
    "FH001": 1.01,  # not measured: a comment that ignores a rule lacks its reason
    "FH101": 1.77,  # unseeded-randomness
    "FH102": 3.71,  # random-identifier
    "FH104": 2.53,  # unseeded-training
    "FH105": 1.37,  # generated-examples
    "FH201": 1.44,  # wall-clock
    "FH202": 0.00,  # time-zone
    "FH203": 0.00,  # measured-duration
    "FH301": 1.64,  # sleep-as-synchronisation
    "FH302": 1.70,  # wait-without-condition
    "FH303": 1.50,  # tight-timeout
    "FH311": 3.47,  # unjoined-thread
    "FH312": 0.00,  # abandoned-task
    "FH313": 1.28,  # parallel-workers
    "FH401": 1.77,  # network-call
    "FH402": 1.63,  # remote-service
    "FH403": 1.89,  # outside-address
    "FH404": 0.00,  # fixed-port
    "FH501": 1.24,  # file-outside-tmp
    "FH502": 2.08,  # resource-optimism
    "FH503": 0.95,  # temporary-name
    "FH504": 0.00,  # database-on-disk
    "FH505": 1.54,  # child-process
    "FH601": 0.00,  # unordered-as-ordered
    "FH602": 2.14,  # directory-order
    "FH603": 1.53,  # float-equality
    "FH604": 0.00,  # identity-comparison
    "FH701": 2.28,  # leaked-handle
    "FH702": 23.25,  # garbage-collection
    "FH801": 0.00,  # locale-dependence
    "FH802": 0.00,  # platform-path
    "FH803": 4.56,  # host-fact
    "FH901": 1.64,  # environment-variable
    "FH902": 0.00,  # working-directory
    "FH903": 0.00,  # interpreter-state
    "FH904": 0.66,  # assigned-patch
    "FH906": 2.66,  # module-state
    "FH907": 2.17,  # class-state
    "FH908": 3.58,  # global-registry
    "FH909": 1.43,  # order-marked
    "FH910": 0.00,  # mutated-fixture
    "FH912": 2.17,  # logging-configuration
    "FH913": 0.00,  # cached-result
}
