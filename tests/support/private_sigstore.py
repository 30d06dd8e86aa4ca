"""A Sigstore of the tests' own: a certificate authority, a certificate log and a signature log, which sign attestations
that `pypi_attestations` verifies offline with this Sigstore's keys, as it verifies those of the public one.

Sources: Fulcio's certificate specification; RFC 6962 for signed certificate timestamps and the Merkle tree; Rekor's API for
entries of the type dsse 0.0.1; the DSSE protocol; PEP 740.
"""

from __future__ import annotations

import base64
import json
import struct
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

x509 = pytest.importorskip("cryptography.x509")
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402

PUBLISH = "https://docs.pypi.org/attestations/publish/v1"
GITHUB = "https://token.actions.githubusercontent.com"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
URL = "https://tuf-repo-cdn.sigstore.dev"
"""The place of the public Sigstore's keys, under which the package sigstore keeps them."""

SHA256 = hashes.SHA256()
TIMESTAMPS = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")


class PrivateSigstore:
    """A Sigstore with new keys."""

    def __init__(self) -> None:
        self.authority, self.certificates, self.log = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
        self.start = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(minutes=2)
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a Sigstore for tests")])
        names = ["digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"]
        self.usage = dict.fromkeys([*names, "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"], False)
        public = self.authority.public_key()
        self.root = (
            self._certificate(public, self.name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.KeyUsage(**self.usage | {"key_cert_sign": True, "crl_sign": True}), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self.authority, SHA256)
        )

    def trust(self, folder: Path) -> dict[str, str]:
        """Return the environment variables with which the package sigstore trusts this Sigstore when it is offline.
        They name folders in `folder`."""
        valid = {"start": (self.start - timedelta(hours=1)).isoformat().replace("+00:00", "Z")}
        root = base64.b64encode(self.root.public_bytes(serialization.Encoding.DER)).decode()
        document = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [_instance(self.log, "https://log.invalid", valid)],
            "ctlogs": [_instance(self.certificates, "https://certificates.invalid", valid)],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "tests", "commonName": "a Sigstore for tests"},
                    "uri": "https://authority.invalid",
                    "certChain": {"certificates": [{"rawBytes": root}]},
                    "validFor": valid,
                }
            ],
            "timestampAuthorities": [],
        }
        place = folder / "cache/sigstore-python/tuf" / quote(URL, safe="")
        place.mkdir(parents=True, exist_ok=True)
        (place / "trusted_root.json").write_text(json.dumps(document))
        return {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}

    def attest(
        self,
        file: Path,
        repository: str = "https://github.com/acme/saxpy",
        workflow: str = "/.github/workflows/release.yml",
        issuer: str = GITHUB,
        kind: str = PUBLISH,
    ) -> dict[str, Any]:
        """Return an attestation of a file, as JSON, that a run of the workflow of a repository made."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signing_certificate(key.public_key(), repository, workflow, issuer)
        subject = {"name": file.name, "digest": {"sha256": sha256(file.read_bytes()).hexdigest()}}
        statement = json.dumps(
            {
                "_type": "https://in-toto.io/Statement/v1",
                "subject": [subject],
                "predicateType": kind,
                "predicate": None,
            }
        ).encode()
        payload_type = "application/vnd.in-toto+json"
        signed = f"DSSEv1 {len(payload_type)} {payload_type} {len(statement)} ".encode() + statement
        signature = key.sign(signed, ec.ECDSA(SHA256))
        return {
            "version": 1,
            "verification_material": {
                "certificate": _text(certificate.public_bytes(serialization.Encoding.DER)),
                "transparency_entries": [self._entry(certificate, statement, signature)],
            },
            "envelope": {"statement": _text(statement), "signature": _text(signature)},
        }

    def _certificate(self, public: Any, subject: Any) -> Any:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.start)
            .not_valid_after(self.start + timedelta(minutes=10))
        )

    def _signing_certificate(self, public: Any, repository: str, workflow: str, issuer: str) -> Any:
        """Return a certificate for a key with the claims of a run, and with a timestamp of the certificate log."""
        place = f"{repository}{workflow}@refs/tags/v1.0"
        claims = {8: issuer, 12: repository, 13: COMMIT, 14: "refs/tags/v1.0", 18: place}
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key())
        usage = self.usage | {"digital_signature": True}
        builder = (
            self._certificate(public, x509.Name([]))
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(place)]), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(authority, critical=False)
        )
        for number, claim in claims.items():
            oid = x509.ObjectIdentifier(f"1.3.6.1.4.1.57264.1.{number}")
            text = claim.encode()
            assert len(text) < 128
            builder = builder.add_extension(
                x509.UnrecognizedExtension(oid, bytes([12, len(text)]) + text), critical=False
            )
        # What the log signs is the certificate without its timestamp, so sign one with any timestamp first.
        draft = self._with_timestamp(builder, b"none")
        issuer_hash = sha256(_der(self.authority)).digest()
        body = draft.tbs_precertificate_bytes
        signed = struct.pack("!BBQH", 0, 0, self._milliseconds(), 1) + issuer_hash
        signed += len(body).to_bytes(3, "big") + body + struct.pack("!H", 0)
        return self._with_timestamp(builder, self.certificates.sign(signed, ec.ECDSA(SHA256)))

    def _with_timestamp(self, builder: Any, signature: bytes) -> Any:
        log = sha256(_der(self.certificates)).digest()
        timestamp = struct.pack("!B32sQH", 0, log, self._milliseconds(), 0)
        timestamp += bytes([4, 3]) + struct.pack("!H", len(signature)) + signature  # SHA-256, ECDSA
        entries = struct.pack("!H", len(timestamp)) + timestamp
        listed = struct.pack("!H", len(entries)) + entries
        length = [len(listed)] if len(listed) < 128 else [0x81, len(listed)]
        extension = x509.UnrecognizedExtension(TIMESTAMPS, bytes([4, *length]) + listed)  # an OCTET STRING
        return builder.add_extension(extension, critical=False).sign(self.authority, SHA256)

    def _milliseconds(self) -> int:
        return int(self.start.timestamp()) * 1000

    def _entry(self, certificate: Any, statement: bytes, signature: bytes) -> dict[str, Any]:
        """Return the entry of an attestation in the log, of which it is the only one."""
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        spec = {
            "envelopeHash": {"algorithm": "sha256", "value": sha256(b"not checked").hexdigest()},
            "payloadHash": {"algorithm": "sha256", "value": sha256(statement).hexdigest()},
            "signatures": [{"signature": _text(signature), "verifier": _text(pem)}],
        }
        body = _canonical({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec})
        log, root = sha256(_der(self.log)).digest(), sha256(b"\0" + body).digest()
        time = int(self.start.timestamp()) + 1
        promised = {"body": _text(body), "integratedTime": time, "logID": log.hex(), "logIndex": 0}
        note = f"log.invalid - 1\n1\n{_text(root)}\n"
        signed = log[:4] + self.log.sign(note.encode(), ec.ECDSA(SHA256))
        return {
            "logIndex": "0",
            "logId": {"keyId": _text(log)},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(time),
            "inclusionPromise": {"signedEntryTimestamp": _text(self.log.sign(_canonical(promised), ec.ECDSA(SHA256)))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": _text(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n\N{EM DASH} log.invalid {_text(signed)}\n"},
            },
            "canonicalizedBody": _text(body),
        }


def _instance(key: Any, url: str, valid: dict[str, str]) -> dict[str, Any]:
    return {
        "baseUrl": url,
        "hashAlgorithm": "SHA2_256",
        "publicKey": {"rawBytes": _text(_der(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": valid},
        "logId": {"keyId": _text(sha256(_der(key)).digest())},
    }


def _der(key: Any) -> bytes:
    encoded: bytes = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


def _canonical(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
