"""Turns a results document into files: JSON, JUnit XML, CSV, figures and one HTML page.

* report/words.py makes the reason of a verdict.
* report/verdicts.py makes the table of verdicts, with their detection limits, and JUnit XML.
* report/templates holds the pages; report/write.py fills them in.
"""
