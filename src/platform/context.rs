//! What a function may use: the only place that knows the clock, the active user, the authority, the configuration,
//! the settings and the keys.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use std::net::IpAddr;

use chrono::{DateTime, NaiveDateTime, SubsecRound, Utc};
use ipnet::IpNet;
use secrecy::SecretString;

use super::api_keys;
use super::cms::{Cms, Place};
use super::configuration::{self, Configuration};
use super::crypto::{self, Keys, Purpose};
use super::db::Database;
use super::host::{Cookie, Host};
use super::http::web::{self, Allowed, Page, Web};
use super::http::{Http, Service};
use super::kept::Kept;
use super::languages::{self, Dictionary, Languages};
use super::outbox::Recorded;
use super::settings::{self, Settings};
use super::smtp::Smtp;
use super::uploads::Uploads;
use super::wake::Wake;
use crate::contract::args::{Argument, Texts, field};
use crate::contract::error::{Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::json;
use crate::contract::language::Language;
use crate::contract::status::UserType;
use crate::contract::value::{Map, Value, at};
use crate::params;

/// What a process keeps from one request to the next: connections and parsed settings, nothing of a request.
#[derive(Default)]
pub struct Process {
    database: Database,
    /// Where the content-management system's tables are, when the service's own connection does not reach them.
    cms: Database,
    settings: settings::Cache,
    languages: languages::Cache,
    http: Http,
    kept: Kept,
    web: Web,
    smtp: Smtp,
    api_keys: api_keys::Cache,
    wake: Wake,
}

impl Process {
    /// That of a thread which runs one call after the other, as in PHP.
    pub fn alone() -> Self {
        Self {
            database: Database::alone(),
            cms: Database::alone(),
            ..Self::default()
        }
    }

    /// Ends what a request may have left open.
    pub async fn end_request(&self) {
        self.database.end_request().await;
        self.cms.end_request().await;
    }

    /// Closes the connections.
    pub async fn shut_down(&self) {
        self.database.disconnect().await;
        self.cms.disconnect().await;
        self.smtp.disconnect().await;
    }
}

/// What is read once per request and forgotten at its end.
#[derive(Default)]
pub struct Request {
    configuration: OnceCell<Configuration>,
    settings: RefCell<Option<Rc<Settings>>>,
    made_secret: OnceCell<SecretString>,
    dictionaries: RefCell<Option<Dictionaries>>,
    /// The login cookie of this request does not count any more.
    logged_out: Cell<bool>,
    /// What follows the writes of this request.
    deliveries: RefCell<Vec<Recorded>>,
}

impl Request {
    /// Whether something waits to be delivered.
    pub fn has_deliveries(&self) -> bool {
        !self.deliveries.borrow().is_empty()
    }

    /// What waits to be delivered, once.
    pub fn take_deliveries(&self) -> Vec<Recorded> {
        self.deliveries.take()
    }
}

/// The dictionaries for one active user.
struct Dictionaries {
    login: Option<Value>,
    found: Rc<[Rc<Dictionary>]>,
}

impl Request {
    /// A request that finds the settings read.
    pub fn with_settings(settings: Rc<Settings>) -> Self {
        Self {
            settings: RefCell::new(Some(settings)),
            ..Self::default()
        }
    }

    /// The settings, once something has read them.
    pub fn known_settings(&self) -> Option<Rc<Settings>> {
        self.settings.borrow().clone()
    }

    /// The dictionaries that were [chosen](Context::choose_dictionaries), while the active user is the same.
    pub fn known_dictionaries(&self, host: &dyn Host) -> Option<Rc<[Rc<Dictionary>]>> {
        let chosen = self.dictionaries.borrow();
        let chosen = chosen.as_ref()?;
        host.is_global_entry(LOGIN, "id", chosen.login.as_ref())
            .then(|| Rc::clone(&chosen.found))
    }
}

/// What a function may use.
pub struct Context<'a> {
    host: &'a dyn Host,
    process: &'a Process,
    request: &'a Request,
}

/// The user on whose behalf a function is called.
#[derive(Debug, Clone, PartialEq)]
pub struct ActiveUser {
    /// Its id.
    pub id: UserId,
    /// Its type, when the login says so.
    pub user_type: Option<UserType>,
    /// The login record as it was given.
    pub record: Map,
}

/// The global variable that holds the active user.
const LOGIN: &str = "SB_LOGIN";
/// The global variable that lifts every restriction while it is exactly true.
const FORCE_ADMIN: &str = "SB_FORCE_ADMIN";
/// The cookie that holds the login data.
const LOGIN_COOKIE: &str = "sb-login";
/// The settings row of a secret that the library made itself.
const SECRET_ROW: &str = "secret-key";

const SETTINGS_ROW: &str = "
    SELECT value
    FROM sb_settings
    WHERE name = ?";

const MAKE_SETTINGS_ROW: &str = "
    INSERT IGNORE INTO sb_settings (name, value)
    VALUES (?, ?)";

const CONVERSATION_OWNER: &str = "
    SELECT user_id
    FROM sb_conversations
    WHERE id = ?";

const LOGIN_RECORD: &str = "
    SELECT token, user_type
    FROM sb_users
    WHERE id = ?";

impl<'a> Context<'a> {
    /// The context of one call.
    pub fn new(host: &'a dyn Host, process: &'a Process, request: &'a Request) -> Self {
        Self { host, process, request }
    }

    /// The embedding program.
    pub fn host(&self) -> &dyn Host {
        self.host
    }

    /// The present time in UTC, in whole seconds as the database keeps it.
    pub fn now(&self) -> NaiveDateTime {
        clock().naive_utc().trunc_subsecs(0)
    }

    /// The address of the client. Behind a proxy of the setting `trusted-proxies` (addresses or networks, separated by
    /// commas) it is the last one in `X-Forwarded-For` that is not such a proxy: those before it anyone can make up.
    pub async fn client_address(&self) -> Result<Option<IpAddr>> {
        let read = |text: &str| text.trim().parse::<IpAddr>().ok().map(|address| address.to_canonical());
        let Some(remote) = self.host.request("REMOTE_ADDR").as_deref().and_then(read) else {
            return Ok(None);
        };
        let Some(forwarded) = self.host.request("HTTP_X_FORWARDED_FOR") else {
            return Ok(Some(remote));
        };
        let proxies = self.settings().await?.text("trusted-proxies").unwrap_or_default();
        let networks: Vec<IpNet> = proxies
            .split(',')
            .filter_map(|proxy| proxy.trim().parse().ok().or_else(|| read(proxy).map(IpNet::from)))
            .collect();
        let is_proxy = |address: &IpAddr| networks.iter().any(|network| network.contains(address));
        if !is_proxy(&remote) {
            return Ok(Some(remote));
        }
        let mut hops = forwarded.rsplit(',').map_while(read);
        Ok(hops.find(|address| !is_proxy(address)).or(Some(remote)))
    }

    /// Whether the request came by https.
    fn is_https(&self) -> bool {
        self.host
            .request("HTTPS")
            .is_some_and(|https| !https.is_empty() && !https.eq_ignore_ascii_case("off"))
    }

    /// The installation's configuration.
    pub fn configuration(&self) -> Result<&Configuration> {
        let configuration = if let Some(configuration) = self.request.configuration.get() {
            configuration
        } else {
            // Only a complete one is kept: a caller may define what is missing later in the same request.
            let configuration = Configuration::read(self.host)?;
            self.request.configuration.get_or_init(|| configuration)
        };
        // At each call: a forked child goes on with the request of its parent, but has a process of its own.
        if self.process.database.configure(&configuration.database) {
            // A process may serve several installations in turn: what holds in one is nothing in the next.
            self.process.api_keys.forget();
        }
        Ok(configuration)
    }

    /// The database.
    pub fn database(&self) -> Result<&Database> {
        self.configuration()?;
        Ok(&self.process.database)
    }

    /// The folder in which files for callers lie.
    pub fn uploads(&self) -> Result<Uploads> {
        let missing = |name| configuration::missing(self.host, name);
        let Configuration { path, url, .. } = self.configuration()?;
        let path = path.as_deref().ok_or_else(|| missing("SB_PATH"))?;
        let url = url.as_deref().ok_or_else(|| missing("SB_URL"))?;
        Ok(Uploads::new(path, url))
    }

    /// The database of the content-management system.
    pub async fn cms(&self) -> Result<Cms<'_>> {
        let settings = self.settings().await?;
        let place = Place::of(&settings, &self.configuration()?.database)?;
        let database = match &place.connection {
            Some(connection) => {
                self.process.cms.configure(connection);
                &self.process.cms
            }
            None => self.database()?,
        };
        Ok(Cms::new(database, place))
    }

    /// The settings, read at most once per request.
    pub async fn settings(&self) -> Result<Rc<Settings>> {
        if let Some(settings) = self.request.known_settings() {
            return Ok(settings);
        }
        let text = self.settings_row("settings").await?.unwrap_or_default();
        let settings = self.process.settings.parse(text);
        self.request.settings.replace(Some(Rc::clone(&settings)));
        Ok(settings)
    }

    /// Lets the next function that needs the settings read them anew, and what was chosen by them.
    pub fn forget_settings(&self) {
        self.request.settings.take();
        self.forget_dictionaries();
    }

    /// The translation files, when it is configured where they are.
    pub fn languages(&self) -> Result<Option<Languages<'_>>> {
        let path = self.configuration()?.path.as_deref();
        Ok(path.map(|path| Languages::new(path, &self.process.languages)))
    }

    /// Keeps the dictionaries that the active user's texts are looked up in.
    pub fn choose_dictionaries(&self, found: Rc<[Rc<Dictionary>]>) {
        let login = self.host.global_entry(LOGIN, "id");
        self.request.dictionaries.replace(Some(Dictionaries { login, found }));
    }

    /// Lets them be chosen again.
    pub fn forget_dictionaries(&self) {
        self.request.dictionaries.take();
    }

    /// The dictionaries that were chosen for the active user.
    pub fn known_dictionaries(&self) -> Option<Rc<[Rc<Dictionary>]>> {
        self.request.known_dictionaries(self.host)
    }

    /// The language that the browser asks for.
    pub fn browser_language(&self) -> Option<Language> {
        Language::accepted(&self.host.request("HTTP_ACCEPT_LANGUAGE")?)
    }

    /// The text of another row of the settings table.
    async fn settings_row(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let row: Option<(Option<Vec<u8>>,)> = self.database()?.row(SETTINGS_ROW, params![name]).await?;
        Ok(row.and_then(|(text,)| text))
    }

    /// A further row of the settings table, decoded. What is no JSON counts as no row.
    pub async fn stored(&self, name: &str) -> Result<Option<Value>> {
        Ok(self.settings_row(name).await?.as_deref().and_then(json::decode))
    }

    /// The outside service `name`: at the address of the setting `<name>-url`, or else at its own, through the proxy of
    /// the setting `http-proxy`.
    pub async fn service(&self, name: &'static str, address: &str) -> Result<Service<'_>> {
        let settings = self.settings().await?;
        let chosen = settings.text(&format!("{name}-url"));
        self.process
            .http
            .service(name, chosen.as_deref().unwrap_or(address), settings.text("http-proxy"))
    }

    /// Sends a request to an address that a caller gave: one on the public internet, or a host of the setting
    /// `http-allowed-hosts`.
    pub async fn fetch(&self, request: web::Request) -> Result<Page> {
        let own = self.settings().await?.value("http-allowed-hosts");
        let own = own.and_then(Texts::from_value).map_or_else(Vec::new, |Texts(own)| own);
        let allowed: Vec<Allowed> = own.iter().filter_map(|host| Allowed::read(host)).collect();
        self.process.web.fetch(request, &allowed).await
    }

    /// The way to mail servers.
    pub fn smtp(&self) -> &Smtp {
        &self.process.smtp
    }

    /// Delivers at the end of the request what was recorded in a transaction that is committed now, and wakes whoever
    /// follows the database.
    pub fn after_commit(&self, recorded: Vec<Recorded>) {
        self.request.deliveries.borrow_mut().extend(recorded);
        if let Ok(configuration) = self.configuration() {
            self.process.wake.ring(&configuration.database);
        }
    }

    /// What outside services have given for a while.
    pub fn kept(&self) -> &Kept {
        &self.process.kept
    }

    /// What the process knows of the keys of the HTTP API.
    pub fn api_keys(&self) -> &api_keys::Cache {
        &self.process.api_keys
    }

    /// What waits to be delivered, once.
    pub fn take_deliveries(&self) -> Vec<Recorded> {
        self.request.take_deliveries()
    }

    /// The keys that the installation encrypts with.
    pub async fn keys(&self) -> Result<Keys> {
        let configuration = self.configuration()?;
        let current = match &configuration.secret_key {
            Some(secret) => secret.clone(),
            None => self.made_secret().await?,
        };
        Ok(Keys::new(current, configuration.old_secret_key.clone()))
    }

    /// The secret of an installation whose configuration has none: made once, by whoever comes first.
    async fn made_secret(&self) -> Result<SecretString> {
        if let Some(secret) = self.request.made_secret.get() {
            return Ok(secret.clone());
        }
        let mut stored = self.settings_row(SECRET_ROW).await?;
        if stored.is_none() {
            let secret = format!("\"{}{}\"", crypto::token()?, crypto::token()?);
            self.database()?
                .execute(MAKE_SETTINGS_ROW, params![SECRET_ROW, secret])
                .await?;
            stored = self.settings_row(SECRET_ROW).await?;
        }
        let secret = stored
            .as_deref()
            .and_then(json::decode)
            .and_then(String::from_value)
            .filter(|secret| !secret.is_empty());
        let secret = secret.ok_or_else(|| Error::configuration("the settings row secret-key holds no text"))?;
        Ok(self.request.made_secret.get_or_init(|| secret.into()).clone())
    }

    /// The active user: `$GLOBALS['SB_LOGIN']`, else the login cookie when its token is still the user's.
    pub async fn active_user(&self) -> Result<Option<ActiveUser>> {
        if let Some(user) = self.host.global(LOGIN).and_then(ActiveUser::read) {
            return Ok(Some(user));
        }
        let cookie = self
            .host
            .cookie(LOGIN_COOKIE)
            .filter(|_| !self.request.logged_out.get());
        let Some(cookie) = cookie.filter(|cookie| !cookie.is_empty()) else {
            return Ok(None);
        };
        let record = self
            .keys()
            .await?
            .decrypt(Purpose::Login, cookie.as_bytes())
            .and_then(|text| json::decode(&text));
        let Some(mut user) = record.and_then(ActiveUser::read) else {
            return Ok(None);
        };
        let known: Option<(String, String)> = self.database()?.row(LOGIN_RECORD, params![user.id]).await?;
        let given = at(&user.record, "token")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        Ok(known
            .filter(|(token, _)| crypto::equal(token.as_bytes(), given.as_bytes()))
            .map(|(_, user_type)| {
                // What the user is today counts, not what it was when it logged in.
                user.user_type = user_type.parse().ok();
                user.record.insert("user_type".into(), user_type.into());
                self.host.set_global(LOGIN, Value::Map(user.record.clone()));
                user
            }))
    }

    /// Whether protected functions are open: `SB_FORCE_ADMIN` is exactly true, or the active user is agent or admin.
    pub async fn has_authority(&self) -> Result<bool> {
        if self.host.global(FORCE_ADMIN) == Some(Value::Bool(true)) {
            return Ok(true);
        }
        Ok(self
            .active_user()
            .await?
            .and_then(|user| user.user_type)
            .is_some_and(UserType::is_staff))
    }

    /// The active user, when it is one who may only touch its own: a visitor, lead or user without further authority.
    pub async fn restricted_user(&self) -> Result<Option<UserId>> {
        if self.host.global(FORCE_ADMIN) == Some(Value::Bool(true)) {
            return Ok(None);
        }
        let user = self.active_user().await?;
        // A login without a type proves no rights.
        Ok(user
            .filter(|user| user.user_type.is_none_or(UserType::is_customer))
            .map(|user| user.id))
    }

    /// Refuses what belongs to `owner` to an active user who may only touch its own.
    pub async fn check_owner(&self, owner: UserId) -> Result<()> {
        refuse_foreign(self.restricted_user().await?, owner)
    }

    /// Refuses a conversation of someone else to an active user who may only touch its own. Costs a query only then;
    /// an unknown conversation is nobody's secret.
    pub async fn check_conversation(&self, conversation: ConversationId) -> Result<()> {
        if self.restricted_user().await?.is_none() {
            return Ok(());
        }
        let owner: Option<(u32,)> = self.database()?.row(CONVERSATION_OWNER, params![conversation]).await?;
        match owner {
            Some((owner,)) => self.check_owner(owner.into()).await,
            None => Ok(()),
        }
    }

    /// Makes `record` the active user, and gives the encrypted login data for the browser.
    pub async fn log_in(&self, record: &Map) -> Result<String> {
        let data = self.login_data(record).await?;
        self.host.set_global(LOGIN, Value::Map(record.clone()));
        self.host.set_cookie(Cookie {
            name: LOGIN_COOKIE,
            value: data.clone(),
            secure: self.is_https(),
        });
        Ok(data)
    }

    /// Ends the session: nobody is the active user any more.
    pub fn log_out(&self) {
        self.request.logged_out.set(true);
        self.host.set_global(LOGIN, Value::Bool(false));
        self.host.set_cookie(Cookie {
            name: LOGIN_COOKIE,
            value: String::new(),
            secure: self.is_https(),
        });
    }

    /// The encrypted login data of a login record.
    pub async fn login_data(&self, record: &Map) -> Result<String> {
        self.keys()
            .await?
            .encrypt(Purpose::Login, json::encode(&Value::Map(record.clone())).as_bytes())
    }
}

/// The clock.
pub(super) fn clock() -> DateTime<Utc> {
    Utc::now()
}

/// Refuses what belongs to `owner` to a [restricted user](Context::restricted_user) other than that one.
pub fn refuse_foreign(restricted_to: Option<UserId>, owner: UserId) -> Result<()> {
    match restricted_to {
        Some(user) if user != owner => Err(Error::security("the active user may use only its own conversations")),
        _ => Ok(()),
    }
}

impl ActiveUser {
    /// Reads a login record; `None` when it names no user.
    fn read(record: Value) -> Option<Self> {
        let record = Map::from_value(record)?;
        let mut fields = record.clone();
        let id = field::<UserId>(&mut fields, "id").ok()??;
        let user_type = field::<String>(&mut fields, "user_type")
            .ok()?
            .and_then(|text| text.parse().ok());
        id.is_some().then_some(Self { id, user_type, record })
    }
}
