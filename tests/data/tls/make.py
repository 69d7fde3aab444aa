"""Makes the certificates of the tests anew: python3 make.py, with `cryptography` of PyPI. They are valid for 100 years."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HERE = Path(__file__).resolve().parent
BEGIN = datetime.datetime(2026, 1, 1)
END = datetime.datetime(2125, 1, 1)


def name(common):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def write(stem, key, *certificates):
    pem = serialization.Encoding.PEM
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (HERE / (stem + ".pem")).write_bytes(b"".join(one.public_bytes(pem) for one in certificates))
    if key:
        (HERE / (stem + ".key")).write_bytes(key.private_bytes(pem, form, plain))
        (HERE / (stem + ".key")).chmod(0o600)


def authority(common, parent=None):
    key = ec.generate_private_key(ec.SECP256R1())
    signer, by = parent or (key, name(common))
    made = (
        x509.CertificateBuilder().subject_name(name(common)).issuer_name(by).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(BEGIN).not_valid_after(END)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )  # fmt: skip
    return key, made


def server(key, signer, by, names, end=END):
    own = [x509.IPAddress(ipaddress.ip_address(one)) if ":" in one or one[0].isdigit() else x509.DNSName(one) for one in names]
    return (
        x509.CertificateBuilder().subject_name(name(names[0])).issuer_name(by).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(BEGIN - datetime.timedelta(365)).not_valid_after(end)
        .add_extension(x509.SubjectAlternativeName(own), critical=False)
        .sign(signer, hashes.SHA256())
    )  # fmt: skip


def main():
    ca_key, ca = authority("opdyno's tests")
    write("ca", None, ca)
    write("other_ca", None, authority("others")[1])
    middle_key, middle = authority("in between", (ca_key, ca.subject))
    here = ["localhost", "127.0.0.1", "::1"]
    for stem, signer, by, names, end, chain in (
        ("server", ca_key, ca.subject, here, END, ()),
        ("chain", middle_key, middle.subject, here, END, (middle,)),
        ("elsewhere", ca_key, ca.subject, ["board.example"], END, ()),
        ("expired", ca_key, ca.subject, here, BEGIN, ()),
    ):
        key = ec.generate_private_key(ec.SECP256R1())
        write(stem, key, server(key, signer, by, names, end), *chain)


if __name__ == "__main__":
    main()
