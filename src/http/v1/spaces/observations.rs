//! Observations: the meaning of an utterance for the facts of a space. The words are not stored.

use serde::{Deserialize, Serialize};

use super::moment::{Moment, Moments};
use super::view::{EffectsWire, FactWire};
use crate::domain::id::{ReadingId, SpaceId};
use crate::domain::scope::Scope;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::Call;
use crate::http::problem::Problem;
use crate::http::respond::{Reply, unexpected};
use crate::http::v1::parts::{bounded, printable};
use crate::service::spaces::SpaceShown;
use crate::state_layer::language::terms::Language;
use crate::state_layer::operation::SpaceAction;
use crate::state_layer::reading::{Stance, Utterance};

const OBSERVE: Endpoint = Endpoint::post("/v1/observations", &[Scope::FactWrite]).for_agents().with_key();

/// The longest utterance: what WhatsApp takes.
pub(super) const MAX_TEXT: usize = 16_384;
/// The longest name of a speaker or an authority.
const NAME: usize = 256;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(OBSERVE, observe)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObserveWire {
    fact_space: SpaceId,
    speaker: Option<String>,
    text: String,
    observed_at: Option<Moment>,
    authority: Option<String>,
}

impl Wire for ObserveWire {}

/// The reading of an utterance, and its effects.
#[derive(Debug, Serialize)]
struct ObservedWire {
    reading: ReadingWire,
    effects: EffectsWire,
    facts: Vec<FactWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed_time_zone: Option<String>,
}

#[derive(Debug, Serialize)]
struct ReadingWire {
    reading_id: ReadingId,
    language: Language,
    stance: Stance,
    claims: usize,
    cues: Vec<String>,
    rules: u32,
}

async fn observe(call: Call, body: Body<ObserveWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    bounded(Some(&wire.text), "/text", MAX_TEXT)?;
    for (value, pointer) in [(&wire.speaker, "/speaker"), (&wire.authority, "/authority")] {
        value.as_ref().map_or(Ok(()), |value| printable(value, pointer, NAME))?;
    }
    let mut moments = Moments::of(&call);
    let now = call.app.service.now();
    let utterance = Utterance {
        speaker: wire.speaker.unwrap_or_else(|| "user".to_owned()),
        text: wire.text,
        at: moments.optional(wire.observed_at.as_ref(), "/observed_at")?.unwrap_or(now),
        authority: wire.authority,
    };
    let reading = call.app.service.read_utterance(&utterance);
    let done = call.decide_space(wire.fact_space, SpaceAction::Observe(reading), &body.value).await?;
    let SpaceShown::Observed { reading, effects, facts } = done.result else { return Err(unexpected()) };
    let wire = ObservedWire {
        reading: ReadingWire {
            reading_id: reading.reading_id,
            language: reading.language,
            stance: reading.stance,
            claims: reading.claims.len(),
            cues: reading.claims.into_iter().filter_map(|claim| claim.cue).collect(),
            rules: reading.rules,
        },
        effects: EffectsWire::of(effects),
        facts: facts.into_iter().map(|fact| FactWire::of(fact, Vec::new())).collect(),
        assumed_time_zone: moments.assumed(),
    };
    Ok(Reply::ok(&wire)?.replayed(done.replayed))
}
