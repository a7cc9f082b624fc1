"""A Redfish service over TLS: sushy-tools' emulator, with the resource of power that it lacks.

usage: redfish.py PORT CERTIFICATE KEY FOLDER [ADDRESS]    (FOLDER holds `watts` to serve and `password`)
"""

import sys
from pathlib import Path

import bcrypt
from sushy_tools.emulator import main

port, certificate, key, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
hashed = bcrypt.hashpw((folder / "password").read_bytes().strip(), bcrypt.gensalt(4, prefix=b"2b")).decode()
(folder / "htpasswd").write_text("bench:" + hashed.replace("$2b$", "$2y$") + "\n")

emulator = main.app
emulator.configure(
    extra_config={
        "SUSHY_EMULATOR_FAKE_DRIVER": True,
        "SUSHY_EMULATOR_AUTH_FILE": str(folder / "htpasswd"),
    }
)


@emulator.route("/redfish/v1/Chassis/1/Power")
def power() -> dict[str, object]:
    """Serve the power that the file says."""
    control = {"MemberId": "0", "PowerConsumedWatts": float((folder / "watts").read_text())}
    return {"@odata.type": "#Power.v1_5_0.Power", "Id": "Power", "PowerControl": [control]}


address = sys.argv[5] if len(sys.argv) > 5 else "127.0.0.1"
emulator.run(host=address, port=port, ssl_context=(certificate, key), threaded=True)
