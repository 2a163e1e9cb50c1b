//! Verdicts: what an inbound message turned out to mean.

use serde::{Deserialize, Serialize};

use super::id::{ItemId, MessageId};

/// The verdict's stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictCode {
    /// It confirms exactly this command.
    Confirmed,
    /// It refuses exactly this command, or takes a confirmation back that was not bound yet.
    Declined,
    /// It picks an option.
    Selected,
    /// An entitled principal agrees.
    Approved,
    /// An entitled principal refuses.
    Rejected,
    /// It reads as an answer and binds to nothing for certain.
    Ambiguous,
    /// It answers something whose time is over.
    Expired,
    /// It names something that was decided.
    AlreadyDecided,
    /// It names something that was replaced or voided.
    Superseded,
    NotAnAnswer,
    /// Nothing that asks for a reaction.
    Ignored,
    /// An outbound message was registered.
    Registered,
}

impl VerdictCode {
    pub const ALL: [Self; 12] = [
        Self::Confirmed,
        Self::Declined,
        Self::Selected,
        Self::Approved,
        Self::Rejected,
        Self::Ambiguous,
        Self::Expired,
        Self::AlreadyDecided,
        Self::Superseded,
        Self::NotAnAnswer,
        Self::Ignored,
        Self::Registered,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Declined => "declined",
            Self::Selected => "selected",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Ambiguous => "ambiguous",
            Self::Expired => "expired",
            Self::AlreadyDecided => "already_decided",
            Self::Superseded => "superseded",
            Self::NotAnAnswer => "not_an_answer",
            Self::Ignored => "ignored",
            Self::Registered => "registered",
        }
    }

    /// Whether it changed what the system may do: the codes that the promises S1 to S4 guard.
    #[must_use]
    pub fn is_acceptance(self) -> bool {
        matches!(self, Self::Confirmed | Self::Declined | Self::Selected | Self::Approved | Self::Rejected)
    }
}

/// Why the verdict is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    // How an answer was bound, strongest first.
    /// Our nonce, and the prompt quoted.
    NonceAndQuote,
    Nonce,
    /// Text quoting the prompt.
    Quote,
    /// A bare answer under all its conditions.
    Bare,

    // Why it binds to nothing for certain.
    /// Nothing was asked of the sender: a yes or a no is an ordinary message. Or a tap on a button of ours whose question was
    /// erased since.
    NothingPending,
    /// It was sent before the question.
    PredatesQuestion,
    /// Its time stamp lies in the future.
    SentInFuture,
    /// The prompt's message id is not attached yet.
    PromptNotSent,
    /// It quotes something that is not a prompt of an open question.
    QuotesOtherMessage,
    /// Another question was registered since, or the person made a request of their own.
    OtherQuestionSince,
    /// The question was put to somebody else.
    OtherActor,
    /// The question was put in another conversation.
    OtherConversation,
    /// The principal lacks the role, or may not approve an own request.
    NotEntitled,
    Forwarded,
    /// The transcript is too unsure.
    LowConfidence,
    /// This kind of message is never an answer here.
    KindNotAccepted,
    /// Policy wants a button or a quote for this command.
    BareAnswerNotAllowed,
    QualifiedAnswer,
    /// Its words name the command and may mean it or refuse it: "cancel" under "Cancel order 1?".
    NamesCommand,
    /// The open question wants an option, not a yes or a no.
    OptionExpected,
    /// The named option or action does not exist.
    NoSuchOption,

    // Why it is too late.
    /// The question's own time is over.
    QuestionExpired,
    /// The context's time is over.
    ContextExpired,
    /// It was confirmed, and the time to bind it is over.
    BindWindowClosed,

    // Why an answer that was given no longer stands.
    /// A no, a call-off, or the deletion or edit of the message that said yes: nothing will be done.
    TakenBack,
    /// "Wait": nothing will be done until the person says yes again.
    Postponed,

    // How it was decided.
    /// It was confirmed or approved before.
    AlreadyGranted,
    /// It was declined or rejected before.
    AlreadyRefused,
    /// An option was chosen before.
    AlreadySelected,
    /// It was spent by a binding.
    AlreadySpent,
    /// This person approved it before.
    AlreadyApprovedByThisPerson,

    // What took its place.
    /// Another question took its place.
    Replaced,
    Cancelled,
    /// Its context was closed.
    ContextClosed,
    /// Its context was blocked.
    ContextBlocked,
    TargetChanged,
    /// The identity of the one asked changed.
    IdentityChanged,
    /// Too many unrelated messages came first.
    Unanswered,
    /// The command ended without it.
    CommandEnded,

    // Ordinary messages.
    /// It answers a question of the caller's own, which the verdict names.
    AnswersOtherQuestion,
    /// It asks to stop something that it names itself: "cancel order 456". The open question stays, and takes no bare answer
    /// any more.
    NewRequest,
    /// Nothing in it reads as an answer.
    OrdinaryMessage,
    /// A tap on a button that is not ours.
    ForeignButton,
    /// The channel could not deliver its content.
    UnsupportedKind,

    // Nothing to react to.
    /// Policy does not accept reactions.
    ReactionsOff,
    /// A reaction was taken away.
    ReactionRemoved,
    /// An edit is recorded and rewrites nothing.
    EditRecorded,
    /// A revocation is recorded and rewrites nothing.
    RevokeRecorded,
    /// News about the person; open questions to that identity are void.
    IdentityNews,
    /// It was received before, and everything about the person was erased since.
    Erased,

    // Outbound.
    /// A question of the caller's own; bare answers to older prompts no longer count.
    QuestionRegistered,
    /// The same question was put again.
    PromptRegistered,
    /// A statement; changes nothing.
    StatementRegistered,
}

impl Reason {
    /// The reason's stable code.
    #[must_use]
    pub fn code(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(code)) => code,
            _ => String::new(),
        }
    }
}

/// What the caller should do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Bind the command before `bind_by`.
    BindCommand,
    /// Tell the person that nothing will be done.
    AcknowledgeRefusal,
    /// Tell the person that nothing will be done until they say so, and ask a new question when they are ready.
    AcknowledgeWait,
    /// Go on with the chosen target.
    ContinueWithSelection,
    /// Wait for approvals, or ask for the one that the command needs as well.
    AwaitApprovals,
    /// Ask the requester for the confirmation that the command needs as well.
    AskConfirmation,
    /// Put the question again; it is still open.
    AskAgain,
    /// Ask a new question: the old one is over.
    AskAnew,
    /// Ask what is meant: it is an answer, and nobody knows to what.
    AskWhatIsMeant,
    /// Say how it was decided.
    TellDecision,
    /// Treat it as an ordinary message.
    Route,
    /// Say nothing: a person has taken the conversation over.
    LeaveToOperator,
    Send,
    Nothing,
}

/// What a message meant, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub code: VerdictCode,
    pub reason: Reason,
    pub next: Next,
    /// The item that it names, answers or would have answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<ItemId>,
    /// The outbound message that asked the caller's own question; with [`Reason::AnswersOtherQuestion`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_message_id: Option<MessageId>,
}

impl Verdict {
    /// A verdict about one item.
    #[must_use]
    pub fn about(code: VerdictCode, reason: Reason, next: Next, item_id: &ItemId) -> Self {
        Self { code, reason, next, item_id: Some(item_id.clone()), question_message_id: None }
    }

    /// A verdict about no item.
    #[must_use]
    pub fn plain(code: VerdictCode, reason: Reason, next: Next) -> Self {
        Self { code, reason, next, item_id: None, question_message_id: None }
    }
}

impl Verdict {
    /// Whether the item is somebody else's, so that the answer must not show it.
    #[must_use]
    pub fn is_about_stranger(&self) -> bool {
        matches!(self.reason, Reason::OtherActor | Reason::OtherConversation | Reason::NotEntitled)
    }
}
