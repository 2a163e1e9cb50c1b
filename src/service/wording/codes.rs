//! Words for the stable codes of the domain. Each match is exhaustive: a new code does not compile without its words.

use super::Words;
use crate::domain::command::Outcome;
use crate::domain::context::BlockedOn;
use crate::domain::event::BindRefusal;
use crate::domain::id::ItemKind;
use crate::domain::item::{ItemState, VoidReason};
use crate::domain::lexicon::Reading;
use crate::domain::lifecycle::Status;
use crate::domain::verdict::{Reason, VerdictCode};

pub(in crate::service) fn status(status: Status) -> Words {
    match status {
        Status::Active => ["active", "activo", "ativo"],
        Status::Pending => ["waiting for an answer", "en espera de respuesta", "aguardando resposta"],
        Status::Blocked => ["blocked", "bloqueado", "bloqueado"],
        Status::Expired => ["expired", "vencido", "expirado"],
        Status::Closed => ["closed", "cerrado", "encerrado"],
    }
}

pub(in crate::service) fn blocked_on(on: BlockedOn) -> Words {
    match on {
        BlockedOn::External => ["something outside", "algo externo", "algo externo"],
        BlockedOn::Operator => ["an operator", "un operador", "um operador"],
    }
}

pub(in crate::service) fn outcome(outcome: Outcome) -> Words {
    match outcome {
        Outcome::InProgress => ["in progress", "en curso", "em andamento"],
        Outcome::Succeeded => ["succeeded", "con éxito", "concluído com sucesso"],
        Outcome::Failed => ["failed", "falló", "falhou"],
        Outcome::Cancelled => ["cancelled", "cancelado", "cancelado"],
        Outcome::Compensated => ["done and undone", "hecho y deshecho", "feito e desfeito"],
        Outcome::Unknown => ["unknown", "desconocido", "desconhecido"],
    }
}

pub(in crate::service) fn reading(reading: &Reading) -> Words {
    match reading {
        Reading::Affirmative { .. } => ["a yes", "un sí", "um sim"],
        Reading::Negative { .. } => ["a no", "un no", "um não"],
        Reading::Qualified { .. } => {
            ["a yes or no with a condition", "un sí o no con condición", "um sim ou não com condição"]
        }
        Reading::Other => ["no yes and no no", "ni sí ni no", "nem sim nem não"],
    }
}

pub(in crate::service) fn verdict(code: VerdictCode) -> Words {
    match code {
        VerdictCode::Confirmed => ["confirmed", "confirmado", "confirmado"],
        VerdictCode::Declined => ["declined", "rechazado", "recusado"],
        VerdictCode::Selected => ["option chosen", "opción elegida", "opção escolhida"],
        VerdictCode::Approved => ["approved", "aprobado", "aprovado"],
        VerdictCode::Rejected => ["rejected", "no aprobado", "não aprovado"],
        VerdictCode::Ambiguous => {
            ["unclear, nothing changed", "no está claro, nada cambió", "não está claro, nada mudou"]
        }
        VerdictCode::Expired => {
            ["too late, nothing changed", "demasiado tarde, nada cambió", "tarde demais, nada mudou"]
        }
        VerdictCode::AlreadyDecided => ["decided before", "ya decidido", "já decidido"],
        VerdictCode::Superseded => ["replaced before", "ya sustituido", "já substituído"],
        VerdictCode::NotAnAnswer => ["not an answer", "no es una respuesta", "não é uma resposta"],
        VerdictCode::Ignored => ["ignored", "ignorado", "ignorado"],
        VerdictCode::Registered => ["registered", "registrado", "registrado"],
    }
}

pub(in crate::service) fn bind_refusal(reason: BindRefusal) -> Words {
    match reason {
        BindRefusal::TargetMismatch => [
            "what would have been done is not what was agreed to",
            "lo que se habría hecho no es lo aceptado",
            "o que seria feito não é o que foi aceito",
        ],
        BindRefusal::AlreadyBound => {
            ["another attempt had it already", "otro intento ya lo tenía", "outra tentativa já o tinha"]
        }
        BindRefusal::CommandConflict => [
            "the same attempt came with other content",
            "el mismo intento llegó con otro contenido",
            "a mesma tentativa veio com outro conteúdo",
        ],
        BindRefusal::IdempotencyKeyTaken => [
            "its key belongs to another command",
            "su clave pertenece a otro comando",
            "sua chave pertence a outro comando",
        ],
        BindRefusal::CommandErased => [
            "it was bound before and erased since",
            "ya fue vinculado antes y borrado después",
            "já foi vinculado antes e apagado depois",
        ],
        BindRefusal::AttemptReused => [
            "its attempt belongs to another command",
            "su intento pertenece a otro comando",
            "sua tentativa pertence a outro comando",
        ],
        BindRefusal::ConfirmationRequired => {
            ["no confirmation was given that counts", "no hubo confirmación válida", "não houve confirmação válida"]
        }
        BindRefusal::ConfirmationExpired => {
            ["the confirmation was too old", "la confirmación había vencido", "a confirmação havia expirado"]
        }
        BindRefusal::ApprovalRequired => {
            ["no approval was given that counts", "no hubo aprobación válida", "não houve aprovação válida"]
        }
        BindRefusal::ApprovalExpired => {
            ["the approval was too old", "la aprobación había vencido", "a aprovação havia expirado"]
        }
        BindRefusal::ExecutionNotUnknown => [
            "its owner still had time to report, or had reported",
            "su dueño aún podía informar o ya había informado",
            "seu dono ainda podia informar ou já havia informado",
        ],
        BindRefusal::AlreadyTakenOver => [
            "the attempt that it would have replaced did not own it",
            "el intento que iba a sustituir no lo tenía",
            "a tentativa que seria substituída não o tinha",
        ],
        BindRefusal::IdentityChanged => [
            "the identity of one who agreed had changed",
            "cambió la identidad de quien aceptó",
            "mudou a identidade de quem aceitou",
        ],
    }
}

/// An item's state, as an adjective, in the terms of its kind.
pub(in crate::service) fn settled(kind: ItemKind, state: &ItemState) -> Words {
    match (state, kind) {
        (ItemState::Open, _) => ["open", "abierta", "aberta"],
        (ItemState::Granted { .. }, ItemKind::Approval) => ["given", "dada", "dada"],
        (ItemState::Granted { .. }, _) => ["answered with yes", "respondida con sí", "respondida com sim"],
        (ItemState::Refused { revoked: true, .. }, _) => ["taken back", "retirada", "retirada"],
        (ItemState::Refused { .. }, ItemKind::Approval) => ["refused", "denegada", "negada"],
        (ItemState::Refused { .. }, _) => ["answered with no", "respondida con no", "respondida com não"],
        (ItemState::Selected { .. }, _) => ["made", "hecha", "feita"],
        (ItemState::Spent { .. }, _) => ["used, once", "usada, una vez", "usada, uma vez"],
        (ItemState::Expired { .. }, _) => ["over, unanswered", "vencida sin respuesta", "expirada sem resposta"],
        (ItemState::Voided { .. }, _) => ["void", "anulada", "anulada"],
    }
}

pub(in crate::service) fn void_reason(void: VoidReason) -> Words {
    reason(match void {
        VoidReason::Replaced => Reason::Replaced,
        VoidReason::Cancelled => Reason::Cancelled,
        VoidReason::ContextClosed => Reason::ContextClosed,
        VoidReason::ContextBlocked => Reason::ContextBlocked,
        VoidReason::ContextExpired => Reason::ContextExpired,
        VoidReason::TargetChanged => Reason::TargetChanged,
        VoidReason::IdentityChanged => Reason::IdentityChanged,
        VoidReason::TakenBack => Reason::TakenBack,
        VoidReason::Unanswered => Reason::Unanswered,
        VoidReason::CommandEnded => Reason::CommandEnded,
    })
}

/// The clause after "because".
#[rustfmt::skip] // A table: one reason per line.
pub(in crate::service) fn reason(reason: Reason) -> Words {
    match reason {
        Reason::NonceAndQuote => ["it is our button and quotes the question", "es nuestro botón y cita la pregunta", "é o nosso botão e cita a pergunta"],
        Reason::Nonce => ["it is our button", "es nuestro botón", "é o nosso botão"],
        Reason::Quote => ["it quotes the question", "cita la pregunta", "cita a pergunta"],
        Reason::Bare => ["one question was open and it came after it", "había una sola pregunta abierta y llegó después", "havia uma só pergunta aberta e veio depois dela"],
        Reason::NothingPending => ["no question was open", "no había pregunta abierta", "não havia pergunta aberta"],
        Reason::AnswersOtherQuestion => ["it answers another question of the bot", "responde a otra pregunta del bot", "responde a outra pergunta do bot"],
        Reason::PredatesQuestion => ["it was sent before the question", "se envió antes de la pregunta", "foi enviada antes da pergunta"],
        Reason::SentInFuture => ["its time stamp lay in the future", "su hora estaba en el futuro", "seu horário estava no futuro"],
        Reason::PromptNotSent => ["the question was not known to be sent yet", "aún no constaba el envío de la pregunta", "o envio da pergunta ainda não constava"],
        Reason::QuotesOtherMessage => ["it quotes another message", "cita otro mensaje", "cita outra mensagem"],
        Reason::OtherQuestionSince => ["another question or request came since", "después hubo otra pregunta u otro pedido", "depois houve outra pergunta ou outro pedido"],
        Reason::OtherActor => ["somebody else was asked", "se preguntó a otra persona", "perguntou-se a outra pessoa"],
        Reason::OtherConversation => ["it was asked in another conversation", "se preguntó en otra conversación", "perguntou-se em outra conversa"],
        Reason::NotEntitled => ["the sender may not decide it", "quien escribe no puede decidirlo", "quem escreve não pode decidir"],
        Reason::Forwarded => ["it was forwarded", "era un reenvío", "era um encaminhamento"],
        Reason::LowConfidence => ["the transcript was too unsure", "la transcripción era poco segura", "a transcrição era pouco segura"],
        Reason::KindNotAccepted => ["this kind of message is no answer here", "ese tipo de mensaje no sirve de respuesta", "esse tipo de mensagem não serve de resposta"],
        Reason::BareAnswerNotAllowed => ["policy wants a button or a quote", "la política exige botón o cita", "a política exige botão ou citação"],
        Reason::QualifiedAnswer => ["it said more than yes or no", "decía más que sí o no", "dizia mais do que sim ou não"],
        Reason::NamesCommand => ["it names the command and may mean yes or no", "nombra el comando y puede querer decir sí o no", "diz o nome do comando e pode querer dizer sim ou não"],
        Reason::OptionExpected => ["an option was asked for", "se pedía una opción", "pedia-se uma opção"],
        Reason::NoSuchOption => ["there is no such option", "esa opción no existe", "essa opção não existe"],
        Reason::QuestionExpired => ["the time to answer was over", "el plazo de respuesta terminó", "o prazo de resposta acabou"],
        Reason::ContextExpired => ["the context's time was over", "el contexto había vencido", "o contexto havia expirado"],
        Reason::BindWindowClosed => ["the time to execute it was over", "el plazo de ejecución terminó", "o prazo de execução acabou"],
        Reason::TakenBack => ["the answer was taken back", "se retiró la respuesta", "a resposta foi retirada"],
        Reason::Postponed => ["the person asked to wait", "la persona pidió esperar", "a pessoa pediu para esperar"],
        Reason::AlreadyGranted => ["it was agreed to before", "ya se había aceptado", "já havia sido aceito"],
        Reason::AlreadyRefused => ["it was refused before", "ya se había rechazado", "já havia sido recusado"],
        Reason::AlreadySelected => ["an option was chosen before", "ya se había elegido", "já se havia escolhido"],
        Reason::AlreadySpent => ["the answer was used before", "la respuesta ya se usó", "a resposta já foi usada"],
        Reason::AlreadyApprovedByThisPerson => ["this person had approved it before", "esa persona ya lo aprobó", "essa pessoa já aprovou"],
        Reason::Replaced => ["another question took its place", "otra pregunta la sustituyó", "outra pergunta a substituiu"],
        Reason::Cancelled => ["the question was withdrawn", "la pregunta se retiró", "a pergunta foi retirada"],
        Reason::ContextClosed => ["the context was closed", "el contexto se cerró", "o contexto foi encerrado"],
        Reason::ContextBlocked => ["the context was blocked", "el contexto se bloqueó", "o contexto foi bloqueado"],
        Reason::TargetChanged => ["the target changed", "el objetivo cambió", "o alvo mudou"],
        Reason::IdentityChanged => ["the identity of the one asked changed", "cambió la identidad de quien debía responder", "mudou a identidade de quem devia responder"],
        Reason::Unanswered => ["other messages came instead of an answer", "llegaron otros mensajes y no una respuesta", "vieram outras mensagens e não uma resposta"],
        Reason::CommandEnded => ["the command ended without it", "el comando terminó sin ella", "o comando terminou sem ela"],
        Reason::NewRequest => ["it is a request of its own", "es un pedido propio", "é um pedido próprio"],
        Reason::OrdinaryMessage => ["nothing in it reads as an answer", "nada en él se lee como respuesta", "nada nela se lê como resposta"],
        Reason::ForeignButton => ["the button is not one of ours", "el botón no es nuestro", "o botão não é nosso"],
        Reason::UnsupportedKind => ["the channel could not deliver its content", "el canal no pudo entregar su contenido", "o canal não pôde entregar o conteúdo"],
        Reason::ReactionsOff => ["policy does not accept reactions", "la política no acepta reacciones", "a política não aceita reações"],
        Reason::ReactionRemoved => ["a reaction was taken away", "se quitó una reacción", "uma reação foi retirada"],
        Reason::EditRecorded => ["an edit adds no answer", "una edición no añade respuestas", "uma edição não acrescenta respostas"],
        Reason::RevokeRecorded => ["a deletion adds no answer", "un borrado no añade respuestas", "uma exclusão não acrescenta respostas"],
        Reason::Erased => ["what it belonged to was erased", "se borró aquello a lo que pertenecía", "aquilo a que pertencia foi apagado"],
        Reason::IdentityNews => ["the person's identity changed", "cambió la identidad de la persona", "mudou a identidade da pessoa"],
        Reason::QuestionRegistered => ["it is a question of the system", "es una pregunta del sistema", "é uma pergunta do sistema"],
        Reason::PromptRegistered => ["it puts the same question again", "repite la misma pregunta", "repete a mesma pergunta"],
        Reason::StatementRegistered => ["it is a statement of the system", "es un aviso del sistema", "é um aviso do sistema"],
    }
}

/// The words for an evidence type in a history; none for a type that is not listed.
#[rustfmt::skip] // A table: one type per line.
pub(in crate::service) fn event_word(kind: &str) -> Option<Words> {
    Some(match kind {
        "context.created" => ["context opened", "contexto abierto", "contexto aberto"],
        "context.transitioned" => ["status changed", "cambió el estado", "estado mudou"],
        "context.expired" => ["context expired", "contexto vencido", "contexto expirado"],
        "context.closed" => ["context closed", "contexto cerrado", "contexto encerrado"],
        "context.slots_changed" => ["details changed", "cambiaron los datos", "dados mudaram"],
        "context.frame_captured" => ["context frozen", "contexto congelado", "contexto congelado"],
        "message.received" => ["message received", "mensaje recibido", "mensagem recebida"],
        "message.registered" => ["message announced", "mensaje anunciado", "mensagem anunciada"],
        "prompt.attached" => ["question sent", "pregunta enviada", "pergunta enviada"],
        "confirmation.requested" => ["confirmation asked for", "confirmación pedida", "confirmação pedida"],
        "confirmation.accepted" => ["confirmed", "confirmado", "confirmado"],
        "confirmation.objected" | "approval.objected" | "disambiguation.objected" => {
            ["words against it", "palabras en contra", "palavras contra"]
        }
        "confirmation.declined" => ["declined", "rechazado", "recusado"],
        "confirmation.revoked" => ["confirmation taken back", "confirmación retirada", "confirmação retirada"],
        "confirmation.spent" => ["confirmation used", "confirmación usada", "confirmação usada"],
        "confirmation.expired" => ["confirmation expired", "confirmación vencida", "confirmação expirada"],
        "confirmation.voided" => ["confirmation void", "confirmación anulada", "confirmação anulada"],
        "approval.requested" => ["approval asked for", "aprobación pedida", "aprovação pedida"],
        "approval.given" => ["one approval given", "una aprobación dada", "uma aprovação dada"],
        "approval.granted" => ["approved", "aprobado", "aprovado"],
        "approval.denied" => ["approval refused", "aprobación denegada", "aprovação negada"],
        "approval.revoked" => ["approval taken back", "aprobación retirada", "aprovação retirada"],
        "approval.spent" => ["approval used", "aprobación usada", "aprovação usada"],
        "approval.expired" => ["approval expired", "aprobación vencida", "aprovação expirada"],
        "approval.voided" => ["approval void", "aprobación anulada", "aprovação anulada"],
        "approval.decision_refused" => ["decision without the right", "decisión sin derecho", "decisão sem direito"],
        "disambiguation.requested" => ["choice asked for", "elección pedida", "escolha pedida"],
        "disambiguation.selected" => ["option chosen", "opción elegida", "opção escolhida"],
        "disambiguation.declined" => ["choice declined", "elección rechazada", "escolha recusada"],
        "disambiguation.expired" => ["choice expired", "elección vencida", "escolha expirada"],
        "disambiguation.voided" => ["choice void", "elección anulada", "escolha anulada"],
        "command.bound" => ["command released", "comando liberado", "comando liberado"],
        "command.taken_over" => ["execution taken over", "ejecución asumida por otro", "execução assumida por outro"],
        "command.refused" => ["command refused", "comando denegado", "comando recusado"],
        "command.result_recorded" => ["result reported", "resultado informado", "resultado informado"],
        _ => return None,
    })
}
