//! placeholder
use crate::failure::Result;
use clap::Args;
/// x
#[derive(Args)]
pub struct Options {}
/// x
pub fn run(_: &Options) -> Result<()> {
    Ok(())
}
