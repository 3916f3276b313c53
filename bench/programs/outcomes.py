"""Runs one module of CPython's own tests, and prints each test's outcome on a line."""

import sys
import unittest

from test import support


class Outcomes(unittest.TestResult):
    """A line a test; of a test with parts, the worst comes last."""

    def say(self, test, word):
        print("\noutcome", test.id().replace(" ", "_"), word, file=sys.__stdout__, flush=True)

    def addSuccess(self, test):
        self.say(test, "ok")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(test, "failure")

    def addError(self, test, err):
        super().addError(test, err)
        self.say(test, "error")

    def addSkip(self, test, reason):
        self.say(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.say(test, "expected-failure")

    def addUnexpectedSuccess(self, test):
        self.say(test, "unexpected-success")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.say(test, "part-failed")


def main():
    support.verbose = False
    try:
        tests = unittest.defaultTestLoader.loadTestsFromName(f"test.{sys.argv[1]}")
    except unittest.SkipTest:
        sys.exit(77)
    result = Outcomes()
    tests.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)


# multiprocessing's children load this file anew.
if __name__ == "__main__":
    main()
