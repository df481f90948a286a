"""Keys that sign: ed25519, in the PEM files that OpenSSL reads and writes.

The private key is a file that only its owner may read; who has the public one can check what was
signed, and sign nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from evalcore.errors import FileError
from evalcore.i18n import Note
from evalcore.intake.files import read_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PUBLIC_SUFFIX = ".pub"
_LARGEST = 10_000  # bytes of a key file; one takes about 120


class PublicKey(bytes):
    """The 32 bytes of a public key."""

    @property
    def fingerprint(self) -> str:
        """16 hex digits for people to compare."""
        return hashlib.sha256(self).hexdigest()[:16]

    def encode_text(self) -> str:
        return base64.b64encode(self).decode()

    def has_signed(self, message: bytes, signature: str) -> bool:
        """Whether the holder of the private key signed these very bytes."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            key = Ed25519PublicKey.from_public_bytes(self)
            key.verify(_decode_base64(signature), message)
        except (InvalidSignature, binascii.Error, ValueError):
            return False
        return True


def parse_public_key(text: str) -> PublicKey:
    """The key that `encode_text` wrote; raises ValueError for anything else."""
    key = PublicKey(_decode_base64(text))
    if len(key) != 32:
        raise ValueError("a public key has 32 bytes")
    return key


def _decode_base64(text: str) -> bytes:
    """Raises ValueError for a text that `b64encode` does not write: bytes have one spelling."""
    content = base64.b64decode(text, validate=True)
    if base64.b64encode(content).decode() != text:
        raise ValueError("is not in the usual form of base64")
    return content


def generate_key(path: Path) -> PublicKey:
    """Make a key pair: the private key in `path`, the public one next to it in `path`.pub. Raises
    UsageError where one of the files is there already or cannot be written."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    public_path = path.with_name(path.name + PUBLIC_SUFFIX)
    for each in (path, public_path):
        if os.path.lexists(each):
            raise FileError(each, Note("key_exists"))
    _write_new_file(path, private, 0o600)
    _write_new_file(public_path, public, 0o644)
    return PublicKey(key.public_key().public_bytes_raw())


class SigningKey:
    """A private key that was read from its file."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> str:
        return base64.b64encode(self._key.sign(message)).decode()


def load_signing_key(path: Path) -> SigningKey:
    """Read a private key. Raises UsageError for a file that is none, or that others may read."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = read_bytes(path, _LARGEST)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise FileError(path, Note("key_open", file=path))
    try:
        key = load_pem_private_key(content, password=None)
    except Exception as error:  # ValueError, TypeError (encrypted), or a kind of the library's own
        raise FileError(path, Note("key_private_none", detail=_first_line(error))) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise FileError(path, Note("key_private_none", detail=type(key).__name__))
    return SigningKey(key)


def load_public_key(path: Path) -> PublicKey:
    """Read a public key. Raises UsageError for a file that is none."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    content = read_bytes(path, _LARGEST)
    try:
        key = load_pem_public_key(content)
    except Exception as error:  # ValueError, or the library's own kinds for an unknown sort of key
        raise FileError(path, Note("key_public_none", detail=_first_line(error))) from None
    if not isinstance(key, Ed25519PublicKey):
        raise FileError(path, Note("key_public_none", detail=type(key).__name__))
    return PublicKey(key.public_bytes_raw())


def _write_new_file(path: Path, content: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except OSError as error:
        raise FileError(path, error) from None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:120] or type(error).__name__
