//! Secrets: encryption, passwords and random tokens.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::hash::MessageDigest;
use openssl::pkey::{Id, PKey};
use openssl::pkey_ctx::PkeyCtx;
use openssl::sign::{Signer, Verifier};
use openssl::symm::{Cipher, decrypt_aead, encrypt_aead};
use secrecy::{ExposeSecret, SecretBox, SecretString};

use super::cms_password;
use crate::contract::error::{Error, Result};

/// The library that encrypts, for people who look for it.
pub static LIBRARY: LazyLock<String> = LazyLock::new(|| openssl::version::version().to_owned());

/// What a text is encrypted for. A text made for one purpose is not read for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The caller's own texts (`sb_encryption`).
    Caller,
    /// The login data that a browser keeps.
    Login,
    /// What outside services have given to all processes.
    Token,
}

impl Purpose {
    const fn text(self) -> &'static str {
        match self {
            Self::Caller => "sb/encryption",
            Self::Login => "sb/login",
            Self::Token => "sb/token",
        }
    }
}

/// The keys of an installation: the current one encrypts, all decrypt.
pub struct Keys {
    current: SecretString,
    older: Vec<SecretString>,
}

const VERSION: u8 = 1;
const NONCE: usize = 12;
const TAG: usize = 16;
/// Random bytes of a user token.
const TOKEN: usize = 20;
/// Bytes of a signature that people carry along.
const SIGNATURE: usize = 8;
const HEADER: usize = 2 + NONCE;

impl Keys {
    /// Keys from the secrets of the configuration.
    pub fn new(current: SecretString, older: Option<SecretString>) -> Self {
        Self {
            current,
            older: older.into_iter().collect(),
        }
    }

    /// Encrypts with AES-256-GCM (NIST SP 800-38D) under a key that HKDF-SHA256 (RFC 5869) derives for the purpose.
    ///
    /// The text is base64url of: version, key id, 12 random bytes, ciphertext, 16-byte tag. Purpose, version and key id
    /// are authenticated with it.
    pub fn encrypt(&self, purpose: Purpose, plain: &[u8]) -> Result<String> {
        let key_id = key_id(&self.current)?;
        let mut nonce = [0; NONCE];
        random(&mut nonce)?;
        let mut tag = [0; TAG];
        let key = derive(&self.current, purpose.text(), 32)?;
        let sealed = encrypt_aead(
            Cipher::aes_256_gcm(),
            key.expose_secret(),
            Some(&nonce),
            &associated(purpose, key_id),
            plain,
            &mut tag,
        )
        .map_err(failed)?;
        let mut packed = vec![VERSION, key_id];
        packed.extend(nonce);
        packed.extend(sealed);
        packed.extend(tag);
        Ok(URL_SAFE_NO_PAD.encode(packed))
    }

    /// A token that is the same each time: the unique key of its column then lets only one such row be.
    pub fn token_of(&self, what: &str) -> Result<String> {
        let bytes = derive(&self.current, &format!("sb/token/{what}"), TOKEN)?;
        Ok(hexadecimal(bytes.expose_secret()))
    }

    /// A short signature, which nobody can make up who has not the key: 16 hexadecimal characters.
    pub fn signature(&self, what: &str) -> Result<String> {
        signature(&self.current, what)
    }

    /// Whether a signature was made by one of these keys.
    pub fn is_signature(&self, what: &str, given: &str) -> bool {
        let given = given.to_ascii_lowercase();
        let mut secrets = std::iter::once(&self.current).chain(&self.older);
        secrets.any(|secret| signature(secret, what).is_ok_and(|own| equal(own.as_bytes(), given.as_bytes())))
    }

    /// Decrypts; `None` when the text was not made by these keys for this purpose, or was changed since.
    pub fn decrypt(&self, purpose: Purpose, text: &[u8]) -> Option<Vec<u8>> {
        let packed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (header, rest) = packed.split_at_checked(HEADER)?;
        let (sealed, tag) = rest.split_at_checked(rest.len().checked_sub(TAG)?)?;
        let ([VERSION, id], nonce) = header.split_first_chunk()? else {
            return None;
        };
        let mut candidates = std::iter::once(&self.current)
            .chain(&self.older)
            .filter(|secret| key_id(secret).ok() == Some(*id));
        candidates.find_map(|secret| {
            let key = derive(secret, purpose.text(), 32).ok()?;
            decrypt_aead(
                Cipher::aes_256_gcm(),
                key.expose_secret(),
                Some(nonce),
                &associated(purpose, *id),
                sealed,
                tag,
            )
            .ok()
        })
    }
}

fn signature(secret: &SecretString, what: &str) -> Result<String> {
    let bytes = derive(secret, &format!("sb/signature/{what}"), SIGNATURE)?;
    Ok(hexadecimal(bytes.expose_secret()))
}

fn associated(purpose: Purpose, key_id: u8) -> Vec<u8> {
    [purpose.text().as_bytes(), &[VERSION, key_id]].concat()
}

/// Tells a key from its successor without telling anything of it.
fn key_id(secret: &SecretString) -> Result<u8> {
    Ok(derive(secret, "sb/key-id", 1)?
        .expose_secret()
        .first()
        .copied()
        .unwrap_or_default())
}

/// HKDF-SHA256 without salt.
fn derive(secret: &SecretString, info: &str, length: usize) -> Result<SecretBox<Vec<u8>>> {
    let mut key = vec![0; length];
    let expanded = PkeyCtx::new_id(Id::HKDF).and_then(|mut hkdf| {
        hkdf.derive_init()?;
        hkdf.set_hkdf_md(openssl::md::Md::sha256())?;
        hkdf.set_hkdf_key(secret.expose_secret().as_bytes())?;
        hkdf.set_hkdf_salt(&[0; 32])?;
        hkdf.add_hkdf_info(info.as_bytes())?;
        hkdf.derive(Some(&mut key))
    });
    expanded.map_err(failed)?;
    Ok(SecretBox::new(Box::new(key)))
}

fn failed(error: openssl::error::ErrorStack) -> Error {
    Error::Internal(format!("encryption failed: {error}"))
}

/// Fills `bytes` from the operating system's generator.
pub fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| Error::Internal(format!("the system gives no random bytes: {error}")))
}

/// A new user token: 40 lower-case hexadecimal characters.
pub fn token() -> Result<String> {
    let mut bytes = [0; TOKEN];
    random(&mut bytes)?;
    Ok(hexadecimal(&bytes))
}

/// A new secret of 256 random bits: 64 lower-case hexadecimal characters.
pub fn secret() -> Result<String> {
    let mut bytes = [0; 32];
    random(&mut bytes)?;
    Ok(hexadecimal(&bytes))
}

/// SHA-256.
pub fn sha256_digest(text: &[u8]) -> [u8; 32] {
    openssl::sha::sha256(text)
}

/// SHA-256 in hexadecimal.
pub fn sha256(text: &[u8]) -> Result<String> {
    Ok(hexadecimal(&sha256_digest(text)))
}

/// HMAC-SHA256 (RFC 2104) in hexadecimal.
pub fn hmac_sha256(key: &SecretString, text: &[u8]) -> Result<String> {
    let key = PKey::hmac(key.expose_secret().as_bytes()).map_err(failed)?;
    let mut signer = Signer::new(MessageDigest::sha256(), &key).map_err(failed)?;
    let signature = signer.sign_oneshot_to_vec(text).map_err(failed)?;
    Ok(hexadecimal(&signature))
}

/// HMAC-SHA1 (RFC 2104): for a protocol that asks for it (RFC 5849).
pub fn hmac_sha1(key: &SecretString, text: &[u8]) -> Result<Vec<u8>> {
    let key = PKey::hmac(key.expose_secret().as_bytes()).map_err(failed)?;
    let mut signer = Signer::new(MessageDigest::sha1(), &key).map_err(failed)?;
    signer.sign_oneshot_to_vec(text).map_err(failed)
}

/// The signature RS256 (RFC 7518) of a text by a private key in PEM; `None` when it is no RSA key.
pub fn sign_rs256(key: &SecretString, text: &[u8]) -> Option<Vec<u8>> {
    let key = PKey::private_key_from_pem(key.expose_secret().as_bytes())
        .ok()
        .filter(|key| key.id() == Id::RSA)?;
    let mut signer = Signer::new(MessageDigest::sha256(), &key).ok()?;
    signer.sign_oneshot_to_vec(text).ok()
}

/// Whether a signature in Ed25519 (RFC 8032) is that of a text; `None` when the key is no public key of it.
pub fn verify_ed25519(key: &[u8], text: &[u8], signature: &[u8]) -> Option<bool> {
    let key = PKey::public_key_from_raw_bytes(key, Id::ED25519).ok()?;
    let mut verifier = Verifier::new_without_digest(&key).ok()?;
    // What is no signature at all is an error of OpenSSL's.
    Some(verifier.verify_oneshot(signature, text).unwrap_or(false))
}

/// The MD5 digest, in hexadecimal: for names that others have made with it, never for secrets.
pub fn md5(text: &[u8]) -> Result<String> {
    let digest = openssl::hash::hash(MessageDigest::md5(), text).map_err(failed)?;
    Ok(hexadecimal(&digest))
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// Compares in constant time.
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && openssl::memcmp::eq(a, b)
}

/// What new passwords are hashed with: about 0.2 s.
const BCRYPT_COST: u32 = 12;

/// What bcrypt reads of a password.
const BCRYPT_LIMIT: usize = 72;

/// The memory in KiB that a hash may ask for: 16 times what PHP's own default does. What asks for more than the machine
/// has would end the process.
const ARGON2_MEMORY_LIMIT: u32 = 1 << 20;

/// The passes over that memory that a hash may ask for.
const ARGON2_PASSES_LIMIT: u32 = 64;

/// Hashes a password as bcrypt `$2y$`, cost 12. What bcrypt would cut off is refused.
pub fn hash_password(password: &[u8]) -> Result<String> {
    if password.len() > BCRYPT_LIMIT {
        return Err(Error::too_long("password", "72 bytes"));
    }
    if password.contains(&0) {
        return Err(Error::Refused {
            code: "invalid-password",
            message: "password contains a NUL byte".into(),
        });
    }
    let hash = bcrypt::hash_with_result(password, BCRYPT_COST)
        .map_err(|error| Error::Internal(format!("bcrypt failed: {error}")))?;
    Ok(hash.format_for_version(bcrypt::Version::TwoY))
}

/// Whether `password` is the one of `hash`, in any form that PHP's `password_hash` writes or wrote, or that
/// content-management systems do. Empty never matches.
pub fn verify_password(password: &[u8], hash: &str) -> bool {
    verify(password, hash).0
}

/// Whether `password` is the one of an account with this hash, `None` when there is no such account.
///
/// A password that is not costs the same work whatever the account has, and whether there is one at all: that of a new
/// hash. What an older or broken hash leaves of it is done for nobody.
pub fn is_password_of(password: &[u8], hash: Option<&str>) -> bool {
    verify_evenly(password, hash.unwrap_or_default()).0
}

/// What bcrypt has done, counted in its rounds: a hash of cost 12 takes 2^12.
type Rounds = u32;

/// The work of a new hash.
const ROUNDS: Rounds = 1 << BCRYPT_COST;

fn verify_evenly(password: &[u8], hash: &str) -> (bool, Rounds) {
    let (matches, mut done) = verify(password, hash);
    if !matches {
        // Of the form 2^12 - 2^cost, which is the sum of the costs between: each is a bit of it.
        let left = ROUNDS.saturating_sub(done);
        done += (0..=BCRYPT_COST)
            .filter(|cost| left >> cost & 1 == 1)
            .map(|cost| spend(password, cost))
            .sum::<Rounds>();
    }
    (matches, done)
}

/// Hashes a password for nobody.
fn spend(password: &[u8], cost: u32) -> Rounds {
    let hash = bcrypt::hash_with_salt_bytes(read_by_bcrypt(password), cost, [0; 16]);
    std::hint::black_box(hash).map_or(0, |_| 1 << cost)
}

/// Whether a password matches, and the rounds that it took. Those of argon2 are not bcrypt's: they count as a new hash.
fn verify(password: &[u8], hash: &str) -> (bool, Rounds) {
    if password.is_empty() || hash.is_empty() {
        return (false, 0);
    }
    if hash.starts_with("$argon2") {
        use argon2::password_hash::{PasswordVerifier, phc::PasswordHash};
        let bearable = PasswordHash::new(hash).ok().filter(|hash| {
            let asks = |name, limit| hash.params.get_decimal(name).is_some_and(|number| number <= limit);
            asks("m", ARGON2_MEMORY_LIMIT) && asks("t", ARGON2_PASSES_LIMIT)
        });
        return bearable.map_or((false, 0), |hash| {
            let verified = argon2::Argon2::default().verify_password(password, &hash);
            (verified.is_ok(), ROUNDS)
        });
    }
    let rounds = |cost: u32| -> Rounds { 1 << cost };
    match bcrypt_cost(hash) {
        Some(cost) => (verify_bcrypt(password, hash), rounds(cost)),
        None => (
            cms_password::verify(password, hash),
            cms_password::bcrypt_within(hash)
                .and_then(bcrypt_cost)
                .map_or(0, rounds),
        ),
    }
}

/// Whether `password` is the one of a bcrypt hash.
pub(super) fn verify_bcrypt(password: &[u8], hash: &str) -> bool {
    bcrypt::verify(read_by_bcrypt(password), hash).unwrap_or(false)
}

/// What bcrypt sees of a password, as PHP has it: up to a NUL byte, and 72 bytes at most.
fn read_by_bcrypt(password: &[u8]) -> &[u8] {
    let read = password.split(|byte| *byte == 0).next().unwrap_or_default();
    read.get(..BCRYPT_LIMIT).unwrap_or(read)
}

/// The cost of a bcrypt hash: `$2y$10$…`.
fn bcrypt_cost(hash: &str) -> Option<u32> {
    let cost = hash.strip_prefix("$2")?.split('$').nth(1)?;
    cost.parse().ok().filter(|cost| *cost < Rounds::BITS)
}

/// Whether a hash that matched should be replaced by one of today's strength.
pub fn is_weak_hash(hash: &str) -> bool {
    match bcrypt_cost(hash) {
        Some(cost) => cost < BCRYPT_COST,
        None => !hash.starts_with("$argon2"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(current: &str, older: Option<&str>) -> Keys {
        Keys::new(current.into(), older.map(Into::into))
    }

    #[test]
    fn what_is_encrypted_is_read_back_for_its_purpose_only() {
        let keys = keys("secret", None);
        for plain in [&b""[..], b"a", &[0, 255, 10], &vec![b'x'; 100_000]] {
            let sealed = keys.encrypt(Purpose::Caller, plain).unwrap();
            assert_eq!(keys.decrypt(Purpose::Caller, sealed.as_bytes()).unwrap(), plain);
            assert_eq!(keys.decrypt(Purpose::Login, sealed.as_bytes()), None);
        }
    }

    #[test]
    fn a_changed_or_shortened_text_is_not_read() {
        let keys = keys("secret", None);
        let packed = URL_SAFE_NO_PAD
            .decode(keys.encrypt(Purpose::Caller, b"payload").unwrap())
            .unwrap();
        for bit in 0..packed.len() * 8 {
            let mut changed = packed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                keys.decrypt(Purpose::Caller, URL_SAFE_NO_PAD.encode(changed).as_bytes()),
                None,
                "bit {bit}"
            );
        }
        for length in 0..packed.len() {
            assert_eq!(
                keys.decrypt(Purpose::Caller, URL_SAFE_NO_PAD.encode(&packed[..length]).as_bytes()),
                None,
                "length {length}"
            );
        }
        assert_eq!(keys.decrypt(Purpose::Caller, b"\xff not base64"), None);
    }

    #[test]
    fn a_key_that_was_changed_still_decrypts() {
        let sealed = keys("old", None).encrypt(Purpose::Caller, b"kept").unwrap();
        assert_eq!(
            keys("new", Some("old"))
                .decrypt(Purpose::Caller, sealed.as_bytes())
                .unwrap(),
            b"kept"
        );
        assert_eq!(keys("new", None).decrypt(Purpose::Caller, sealed.as_bytes()), None);
    }

    #[test]
    fn a_signature_is_of_one_text_and_of_keys_that_are_known() {
        let (old, new) = (keys("old", None), keys("new", Some("old")));
        let signature = old.signature("email/12").unwrap();
        assert_eq!(signature.len(), 16);
        assert!(old.is_signature("email/12", &signature) && new.is_signature("email/12", &signature.to_uppercase()));
        assert!(!new.is_signature("email/13", &signature) && !new.is_signature("email/12", &signature[..15]));
        assert!(!keys("new", None).is_signature("email/12", &signature));
        assert_ne!(new.signature("email/12").unwrap(), signature);
    }

    #[test]
    fn no_nonce_comes_twice() {
        let keys = keys("secret", None);
        let made: std::collections::HashSet<_> = (0..10_000)
            .map(|_| keys.encrypt(Purpose::Caller, b"same").unwrap())
            .collect();
        assert_eq!(made.len(), 10_000);
    }

    #[test]
    fn derivation_is_the_hkdf_of_rfc_5869() {
        // Computed with Python: hmac-sha256 extract with 32 zero bytes, one expand step with the info.
        let key = derive(&"secret".into(), "sb/encryption", 32).unwrap();
        assert_eq!(
            hexadecimal(key.expose_secret()),
            "744bb5acac07e0f42d6b6a8da45f9e5f5d00d6cc2f8e2b8134f0d7db3ac4f292"
        );
    }

    /// Made by PHP 8.2: password_hash("correct horse", …), and crypt() for the older prefixes.
    const OF_PHP: [&str; 5] = [
        "$2y$10$8RxOBaY.DNl9nH/5uhlhT.mRN8kILP3hKdauv4kcbnqafzCgldRZG",
        "$2a$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu",
        "$2b$10$c2ACzXEUm3dI2NAoBfHHCurAm88dDqr5/Mg8aapSzFSf5ZVEmofJa",
        "$argon2i$v=19$m=4096,t=4,p=1$ZE9wcUVDVGNSanUzd2RPVw$xsVRcTPboU/8KyeXSOyzmNis/6nmjAIKOSPd+aOVxcM",
        "$argon2id$v=19$m=4096,t=4,p=1$VHVYRzNzODNiSkFMdHRzZw$9h8xUeLoCd5OOoaz0gVvDsFKTWLCjEz2W3VfkDZyKPU",
    ];

    #[test]
    fn hashes_of_php_verify() {
        for hash in OF_PHP {
            assert!(verify_password(b"correct horse", hash), "{hash}");
            assert!(!verify_password(b"correct horsf", hash), "{hash}");
            assert!(!verify_password(b"", hash), "{hash}");
        }
    }

    #[test]
    fn our_hashes_are_bcrypt_of_cost_12() {
        let hash = hash_password("pässword".as_bytes()).unwrap();
        assert!(hash.starts_with("$2y$12$") && hash.len() == 60, "{hash}");
        assert!(verify_password("pässword".as_bytes(), &hash));
        assert!(!is_weak_hash(&hash));
        assert!(is_weak_hash(OF_PHP[0]));
    }

    #[test]
    fn what_bcrypt_would_cut_off_is_refused_when_new_and_read_as_php_does_when_old() {
        assert!(hash_password(&[b'x'; 73]).is_err());
        assert!(hash_password(b"a\0b").is_err());
        let hash = hash_password(&[b'x'; 72]).unwrap();
        assert!(verify_password(&[b'x'; 80], &hash));
    }

    #[test]
    fn nothing_that_is_no_hash_matches() {
        for hash in [
            "",
            "plain",
            "$2y$",
            "$2y$99$abc",
            "$argon2id$",
            "5f4dcc3b5aa765d61d8327deb882cf99",
            "*0",
            "*1",
        ] {
            assert!(!verify_password(b"plain", hash), "{hash}");
        }
    }

    #[test]
    fn a_wrong_password_takes_the_same_work_whatever_the_account_has() {
        let work = |hash: &str| {
            let (matches, rounds) = verify_evenly(b"wrong", hash);
            assert!(!matches, "{hash}");
            rounds
        };
        assert_eq!(ROUNDS, 4096);
        // No such account, or one without a password.
        assert_eq!(work(""), ROUNDS);
        for cost in [4, 7, 10, 11, 12] {
            let hash = bcrypt::hash("right", cost).unwrap();
            assert_eq!(verify(b"wrong", &hash), (false, 1 << cost));
            assert_eq!(work(&hash), ROUNDS, "{cost}");
        }
        for hash in OF_PHP {
            assert_eq!(work(hash), ROUNDS, "{hash}");
        }
        for hash in [
            "5f4dcc3b5aa765d61d8327deb882cf99",
            "$P$B55D6LjfHDkINU5wF.v2BuuzO0/XPk/",
            "$2y$10$",
            "$2y$99$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
            "$2y$-1$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
            "$argon2id$v=19$m=99999999,t=4,p=1$VHVYRzNzODNiSkFMdHRzZw$9h8xUeLoCd5OOoaz0gVvDsFKTWLCjEz2W3VfkDZyKPU",
            "$argon2id$",
            "plain",
        ] {
            assert_eq!(work(hash), ROUNDS, "{hash}");
        }
        // A stronger one takes what it takes.
        assert_eq!(work(&bcrypt::hash("right", 13).unwrap()), 2 * ROUNDS);
        // What nobody would type is no shorter way.
        for password in [b"\0".to_vec(), vec![b'x'; 100_000]] {
            assert_eq!(verify_evenly(&password, "").1, ROUNDS);
        }
    }

    #[test]
    fn the_right_password_takes_no_more_work_than_its_hash() {
        let hash = bcrypt::hash("right", 5).unwrap();
        assert_eq!(verify_evenly(b"right", &hash), (true, 1 << 5));
        assert!(is_password_of(b"right", Some(&hash)));
        assert!(!is_password_of(b"right", None));
    }

    #[test]
    fn tokens_are_long_and_random() {
        let (a, b) = (token().unwrap(), token().unwrap());
        assert!(
            a.len() == 40
                && a.bytes()
                    .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        );
        assert_ne!(a, b);
    }
}
