"""``python -m analysis.provenance facts``: print the facts of this node as JSON."""

import argparse
import json

from analysis.provenance.facts import facts

parser = argparse.ArgumentParser(prog="python -m analysis.provenance", description=__doc__)
parser.add_argument("what", choices=["facts"], help="facts: of the node that this runs on, as JSON")
parser.parse_args()
print(json.dumps(facts(), indent=1))
