//! Password hashes that only content-management systems write: phpass (`$P$`), pre-hashed bcrypt (`$wp$2y$`) and, from
//! long ago, plain MD5.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::hash::{MessageDigest, hash};
use openssl::pkey::PKey;
use openssl::sign::Signer;

use super::crypto;

/// The longest password that these systems take.
const LIMIT: usize = 4096;

/// The digits of phpass, in the order of their values.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The most rounds that a hash may ask for, as a power of two: 128 times what is usual.
const ROUNDS_LIMIT: usize = 20;

/// What stands before a bcrypt hash of a pre-hashed password.
const PREHASHED: &str = "$wp";

/// The key of the pre-hash.
const PREHASH_KEY: &[u8] = b"wp-sha384";

/// Whether `password` is the one of `hash`; false for every hash of another form.
pub(super) fn verify(password: &[u8], hash: &str) -> bool {
    if password.len() > LIMIT {
        return false;
    }
    let made = match hash.as_bytes() {
        [b'$', b'P' | b'H', b'$', ..] => phpass(password, hash),
        [b'$', b'w', b'p', b'$', ..] => {
            let bcrypt = bcrypt_within(hash).unwrap_or_default();
            return prehashed(password).is_some_and(|text| crypto::verify_bcrypt(text.as_bytes(), bcrypt));
        }
        digits if digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit) => md5(&[password]).map(hexadecimal),
        _ => None,
    };
    // The digits of an MD5 hash that was written by hand may be in upper case.
    made.is_some_and(|made| {
        crypto::equal(made.as_bytes(), hash.as_bytes())
            || hash.len() == 32 && crypto::equal(made.as_bytes(), hash.to_ascii_lowercase().as_bytes())
    })
}

/// The bcrypt hash in one of a pre-hashed password.
pub(super) fn bcrypt_within(hash: &str) -> Option<&str> {
    hash.strip_prefix(PREHASHED)
}

/// The phpass hash of a password with the rounds and the salt of another one.
fn phpass(password: &[u8], hash: &str) -> Option<String> {
    let settings = hash.get(..12)?;
    let rounds = settings.as_bytes().get(3)?;
    let rounds = DIGITS.iter().position(|digit| digit == rounds)?;
    let salt = settings.as_bytes().get(4..)?;
    if !(7..=ROUNDS_LIMIT).contains(&rounds) {
        return None;
    }
    let mut digest = md5(&[salt, password])?;
    for _ in 0..1_u32 << rounds {
        digest = md5(&[&digest, password])?;
    }
    Some(format!("{settings}{}", in_digits(&digest)))
}

/// Six bits a digit, the lowest first.
fn in_digits(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = group
            .iter()
            .rev()
            .fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        let digits = (0..=group.len()).filter_map(|at| DIGITS.get(number >> (6 * at) & 63));
        text.extend(digits.map(|digit| char::from(*digit)));
    }
    text
}

/// What bcrypt is given in place of the password: 64 characters for any length.
fn prehashed(password: &[u8]) -> Option<String> {
    let key = PKey::hmac(PREHASH_KEY).ok()?;
    let mut signer = Signer::new(MessageDigest::sha384(), &key).ok()?;
    signer.update(password).ok()?;
    Some(STANDARD.encode(signer.sign_to_vec().ok()?))
}

fn md5(parts: &[&[u8]]) -> Option<Vec<u8>> {
    hash(MessageDigest::md5(), &parts.concat())
        .ok()
        .map(|digest| digest.to_vec())
}

fn hexadecimal(digest: Vec<u8>) -> String {
    crypto::hexadecimal(&digest)
}

#[cfg(test)]
mod tests {
    use crate::platform::crypto::{is_weak_hash, verify_password};

    /// Made by the systems themselves.
    const MADE: [(&str, &str); 8] = [
        ("Admin pass é1!", "$P$BsLGIss7jx0piuq4YJ3pGsJlJ2578j/"),
        ("leading space 1", "$P$BP/m4qH.I5W.LjxwkKcgFvqXPc/Qq.0"),
        (r#"qu\"o\'te\\4"#, "$P$B5/e93bHVnUHnV49wD7B.IXAbKbQ3K1"),
        (
            "pass-0",
            "$wp$2y$10$yMZfDIsvYrzODgo5VUxV9.qptwMAMUJZ3Ue1cvlMi65wJ5ZzBxzXi",
        ),
        (
            "pässwörd✓2",
            "$wp$2y$10$.2W9XOSoLWdWOv4BqYSA5uS6qgPsigQcN3npg3qqQLjBnQPOxZZCm",
        ),
        (
            "long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-3",
            "$wp$2y$10$5hB2.cyoDaZRAcHYmw5MhOsgtVjQJJk0J5fd8OdTcNI7S88I1JwG6",
        ),
        (
            "plain bcrypt",
            "$2y$08$5QG280rRS6rvoSPs8WZk3eg6Q/BLvAcdYzslnQXqc4hWRM5MDKtA6",
        ),
        ("old md5 pass", "b108e0ee5a51bf87f3627136d8339d84"),
    ];

    #[test]
    fn hashes_of_content_management_systems_verify() {
        for (password, hash) in MADE {
            assert!(verify_password(password.as_bytes(), hash), "{hash}");
            assert!(!verify_password(format!("{password}x").as_bytes(), hash), "{hash}");
            assert!(!verify_password(b"", hash), "{hash}");
            assert!(is_weak_hash(hash), "{hash}");
        }
        assert!(verify_password(b"old md5 pass", "B108E0EE5A51BF87F3627136D8339D84"));
    }

    #[test]
    fn what_only_begins_as_such_a_hash_matches_nothing() {
        for hash in [
            "$P$",
            "$P$Bshort",
            "$P$zsLGIss7jx0piuq4YJ3pGsJlJ2578j/",
            "$P$.sLGIss7jx0piuq4YJ3pGsJlJ2578j/",
            "$P$éééééé",
            "$wp$",
            "$wp$2y$10$",
            "b108e0ee5a51bf87f3627136d8339d8",
        ] {
            assert!(!verify_password(b"pass-0", hash), "{hash}");
        }
        assert!(!verify_password(&[b'x'; 4097], "$P$BsLGIss7jx0piuq4YJ3pGsJlJ2578j/"));
    }
}
