//! The outside services that the settings ask for.

use sb::contract::Result as Outcome;
use sb::functions::reach_mailboxes;
use sb::platform::Context;
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::PlainHost;
use sb::providers::email::Sender;
use sb::providers::{Outside, SERVICES};

use super::report::Report;
use crate::failure::Result;

const SERVICE: &str = "service";

/// Looks whether each can be reached.
pub fn look(engine: &Engine, host: &PlainHost, report: &mut Report) -> Result<()> {
    let request = Request::default();
    let mut asked = 0;
    for service in SERVICES {
        let reached = engine.run(async |process| reach(&Context::new(host, process, &request), service).await);
        let setting = format!("{}-url, to http-proxy", service.name);
        asked += note(service.name, &setting, reached, report)?;
    }
    let reached = engine.run(async |process| reach_mail_server(&Context::new(host, process, &request)).await);
    asked += note("email", "email-server", reached, report)?;
    let reached = engine.run(async |process| reach_mailboxes(&Context::new(host, process, &request)).await);
    asked += note("email-piping", "email-piping", reached, report)?;
    if asked == 0 {
        report.fine(SERVICE, "the settings ask for no outside service")?;
    }
    Ok(())
}

/// Whether the settings ask for a service, which then is there.
async fn reach(cx: &Context<'_>, service: &Outside) -> Outcome<bool> {
    let settings = cx.settings().await?;
    if !(service.is_wanted)(&settings) {
        return Ok(false);
    }
    let address = (service.address)(&settings)?;
    cx.service(service.name, &address).await?.reach().await?;
    Ok(true)
}

async fn reach_mail_server(cx: &Context<'_>) -> Outcome<bool> {
    let is_set = Sender::is_set(cx).await?;
    if is_set {
        Sender::of(cx).await?.reach().await?;
    }
    Ok(is_set)
}

/// Reports of a service that is asked for, and counts it.
fn note(name: &str, setting: &str, reached: Outcome<bool>, report: &mut Report) -> Result<u32> {
    match reached {
        Ok(false) => return Ok(0),
        Ok(true) => report.fine(SERVICE, &format!("{name} can be reached"))?,
        Err(error) => report.find(
            SERVICE,
            &format!("{name}: {error}"),
            &format!("see to the setting {setting}, and to what a firewall lets out"),
        )?,
    }
    Ok(1)
}
