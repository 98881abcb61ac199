"""The room that triages: is a failing test flaky, or did the change break it?"""
