//! Instants of the state layer: with an offset, or without one in the tenant's zone, which the answer then names.

use serde::Deserialize;

use crate::domain::time::{Timestamp, Zone};
use crate::http::extract::Call;
use crate::http::problem::Problem;

/// An instant as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct Moment(String);

/// Parses the instants of one request, and notes whether one had no offset.
pub(super) struct Moments {
    zone: Option<Zone>,
    name: String,
    assumed: bool,
}

impl Moments {
    pub(super) fn of(call: &Call) -> Self {
        let (zone, name) = call.app.service.zone(&call.caller);
        Self { zone, name, assumed: false }
    }

    /// The instant at a place in the body.
    pub(super) fn read(&mut self, moment: &Moment, pointer: &str) -> Result<Timestamp, Problem> {
        if let Ok(instant) = Timestamp::parse(&moment.0) {
            return Ok(instant);
        }
        let local = self.zone.as_ref().and_then(|zone| zone.read(&moment.0));
        self.assumed |= local.is_some();
        local.ok_or_else(|| {
            let why = "must be a date-time such as 2026-11-20T15:04:05Z, or without an offset in the tenant's own zone";
            Problem::invalid(pointer, why)
        })
    }

    pub(super) fn optional(&mut self, moment: Option<&Moment>, pointer: &str) -> Result<Option<Timestamp>, Problem> {
        moment.map(|moment| self.read(moment, pointer)).transpose()
    }

    /// The zone, if one was assumed.
    pub(super) fn assumed(&self) -> Option<String> {
        self.assumed.then(|| self.name.clone())
    }
}
