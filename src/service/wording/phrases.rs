//! The phrases. `{}` is a gap; every language has the same gaps in the same order.

use super::Words;

macro_rules! phrases {
    ($($name:ident: [$english:literal, $spanish:literal, $portuguese:literal];)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::service) enum Say { $($name),* }

        impl Say {
            #[cfg(test)]
            pub(in crate::service) const ALL: &'static [Self] = &[$(Self::$name),*];

            pub(super) fn words(self) -> Words {
                match self { $(Self::$name => [$english, $spanish, $portuguese]),* }
            }
        }
    };
}

phrases! {
    AndMore: ["… and {} more", "… y {} más", "… e mais {}"];
    AtLeast: ["at least {}", "al menos {}", "pelo menos {}"];

    ActiveContext: ["*Active context*", "*Contexto activo*", "*Contexto ativo*"];
    NoContext: [
        "No context is open in this conversation.",
        "No hay ningún contexto abierto en esta conversación.",
        "Não há nenhum contexto aberto nesta conversa."
    ];
    NeverOne: ["There was none before.", "No hubo ninguno antes.", "Não houve nenhum antes."];
    LastExpired: ["The last one expired at {}.", "El último venció el {}.", "O último expirou em {}."];
    LastClosed: ["The last one was closed at {}.", "El último se cerró el {}.", "O último foi encerrado em {}."];
    Status: ["Status: {}", "Estado: {}", "Estado: {}"];
    TimeLeft: ["Time left: {}", "Tiempo restante: {}", "Tempo restante: {}"];
    OverSince: ["Over since: {}", "Terminado desde: {}", "Terminado desde: {}"];
    WaitsFor: ["Waits for: {}", "Espera: {}", "Aguarda: {}"];
    Intent: ["Intent: {}", "Intención: {}", "Intenção: {}"];
    Target: ["Target: {}", "Objetivo: {}", "Alvo: {}"];
    OtherContexts: ["Other open contexts here: {}", "Otros contextos abiertos aquí: {}", "Outros contextos abertos aqui: {}"];
    NothingAsked: ["No question is open.", "No hay ninguna pregunta abierta.", "Não há nenhuma pergunta aberta."];
    ConfirmationOpen: [
        "A confirmation is waiting for an answer.",
        "Una confirmación espera respuesta.",
        "Uma confirmação aguarda resposta."
    ];
    ConfirmationOf: [
        "Waiting for a yes or a no to *{}*, {} left.",
        "Espera un sí o un no a *{}*, quedan {}.",
        "Aguarda um sim ou um não para *{}*, restam {}."
    ];
    ApprovalOpen: [
        "An approval is waiting for a decision.",
        "Una aprobación espera decisión.",
        "Uma aprovação aguarda decisão."
    ];
    ApprovalOf: [
        "Waiting for approval by {}: {} of {} given, {} left.",
        "Espera aprobación de {}: {} de {} dadas, quedan {}.",
        "Aguarda aprovação de {}: {} de {} dadas, restam {}."
    ];
    ChoiceOpen: ["A choice is waiting for an answer.", "Una elección espera respuesta.", "Uma escolha aguarda resposta."];
    ChoiceOf: [
        "Waiting for a choice among {} options, {} left.",
        "Espera una elección entre {} opciones, quedan {}.",
        "Aguarda uma escolha entre {} opções, restam {}."
    ];
    LastCommand: ["Last command: *{}* ({})", "Último comando: *{}* ({})", "Último comando: *{}* ({})"];

    PendingList: ["*Waiting for an answer: {}*", "*Esperan respuesta: {}*", "*Aguardam resposta: {}*"];
    NothingPending: ["Nothing is waiting for an answer.", "Nada espera respuesta.", "Nada aguarda resposta."];
    PendingItem: ["• {}: {}, {} left", "• {}: {}, quedan {}", "• {}: {}, restam {}"];
    BlockedList: ["*Blocked: {}*", "*Bloqueados: {}*", "*Bloqueados: {}*"];
    NothingBlocked: ["Nothing is blocked.", "Nada está bloqueado.", "Nada está bloqueado."];
    BlockedItem: ["• {}: {}, since {}", "• {}: {}, desde {}", "• {}: {}, desde {}"];
    UnreportedList: ["*Without a result: {}*", "*Sin resultado: {}*", "*Sem resultado: {}*"];
    NothingUnreported: ["Every command has a result.", "Todos los comandos tienen resultado.", "Todos os comandos têm resultado."];
    ExecutingItem: ["• {} ({}): being executed, {} left to report", "• {} ({}): en ejecución, quedan {} para informar", "• {} ({}): em execução, restam {} para informar"];
    UnknownItem: ["• {} ({}): nobody knows whether it was executed, since {}", "• {} ({}): no se sabe si se ejecutó, desde {}", "• {} ({}): não se sabe se foi executado, desde {}"];
    AContext: ["a context", "un contexto", "um contexto"];
    AConfirmation: ["a confirmation", "una confirmación", "uma confirmação"];
    AnApproval: ["an approval", "una aprobación", "uma aprovação"];
    AChoice: ["a choice", "una elección", "uma escolha"];
    ConfirmationFor: ["confirmation of {}", "confirmación de {}", "confirmação de {}"];
    ApprovalFor: ["approval of {}", "aprobación de {}", "aprovação de {}"];
    History: ["*History*", "*Historial*", "*Histórico*"];
    NoHistory: [
        "Nothing is recorded, or it is no longer kept.",
        "No hay nada registrado, o ya no se conserva.",
        "Não há nada registrado, ou já não é mantido."
    ];
    At: ["• {}: {}", "• {}: {}", "• {}: {}"];
    Because: ["{} ({})", "{} ({})", "{} ({})"];

    Why: ["*Why: {}*", "*Por qué: {}*", "*Por quê: {}*"];
    ACommand: ["the command", "el comando", "o comando"];
    WasBound: [
        "The command was released for execution once, at {}. Result: {}.",
        "El comando se liberó para una ejecución el {}. Resultado: {}.",
        "O comando foi liberado para uma execução em {}. Resultado: {}."
    ];
    NotExecuted: [
        "Not executed, because {}.",
        "No se ejecutó, porque {}.",
        "Não foi executado, porque {}."
    ];
    WasRefused: ["the answer was no", "la respuesta fue no", "a resposta foi não"];
    StillWaiting: ["an answer is still awaited", "aún se espera una respuesta", "ainda se aguarda uma resposta"];
    GrantedNotBound: [
        "it was agreed to and has not been released yet",
        "se aceptó y aún no se ha liberado",
        "foi aceito e ainda não foi liberado"
    ];
    BindTooLate: [
        "it was agreed to and not released in time",
        "se aceptó y no se liberó a tiempo",
        "foi aceito e não foi liberado a tempo"
    ];
    NoLongerKept: ["the record is no longer kept", "el registro ya no se conserva", "o registro já não é mantido"];

    AskedConfirmation: [
        "A confirmation was asked for: policy demands one for class {}. Answers counted until {}.",
        "Se pidió confirmación: la política la exige para la clase {}. Las respuestas contaban hasta el {}.",
        "Pediu-se confirmação: a política a exige para a classe {}. As respostas valiam até {}."
    ];
    AskedUnneeded: [
        "A confirmation was asked for, though policy does not demand one for class {}. Answers counted until {}.",
        "Se pidió confirmación, aunque la política no la exige para la clase {}. Las respuestas contaban hasta el {}.",
        "Pediu-se confirmação, embora a política não a exija para a classe {}. As respostas valiam até {}."
    ];
    AskedApproval: [
        "An approval was asked for: policy demands {} by {} for class {}. Decisions counted until {}.",
        "Se pidió aprobación: la política exige {} de {} para la clase {}. Las decisiones contaban hasta el {}.",
        "Pediu-se aprovação: a política exige {} de {} para a classe {}. As decisões valiam até {}."
    ];
    AskedChoice: ["A choice was asked for.", "Se pidió una elección.", "Pediu-se uma escolha."];
    PromptSent: [
        "The question was sent; its message is known.",
        "Se envió la pregunta; se conoce su mensaje.",
        "A pergunta foi enviada; sua mensagem é conhecida."
    ];
    MessageRead: [
        "A message came. It reads as {}, and means: {}, because {}.",
        "Llegó un mensaje. Se lee como {} y significa: {}, porque {}.",
        "Chegou uma mensagem. Lê-se como {} e significa: {}, porque {}."
    ];
    TapRead: [
        "A tap or an answer in kind came, and means: {}, because {}.",
        "Llegó una pulsación o una respuesta equivalente y significa: {}, porque {}.",
        "Veio um toque ou uma resposta equivalente, que significa: {}, porque {}."
    ];
    StopRead: [
        "A message came that stops what was agreed to, and means: {}, because {}.",
        "Llegó un mensaje que detiene lo aceptado y significa: {}, porque {}.",
        "Chegou uma mensagem que interrompe o que foi aceito e significa: {}, porque {}."
    ];
    WithdrawalRead: [
        "An earlier message was deleted or edited, and that means: {}, because {}.",
        "Se borró o editó un mensaje anterior, y eso significa: {}, porque {}.",
        "Uma mensagem anterior foi apagada ou editada, e isso significa: {}, porque {}."
    ];
    TheConfirmation: ["The confirmation", "La confirmación", "A confirmação"];
    TheApproval: ["The approval", "La aprobación", "A aprovação"];
    TheChoice: ["The choice", "La elección", "A escolha"];
    ItemState: ["{}: {}.", "{}: {}.", "{}: {}."];
    OneApproval: ["One approval was given; more are needed.", "Se dio una aprobación; faltan más.", "Uma aprovação foi dada; faltam mais."];
    DecisionRefused: [
        "Somebody without the right tried to decide; nothing changed.",
        "Alguien sin derecho intentó decidir; nada cambió.",
        "Alguém sem direito tentou decidir; nada mudou."
    ];
    FrameFrozen: [
        "The context was frozen and hashed for this command.",
        "El contexto se congeló y se firmó con un hash para este comando.",
        "O contexto foi congelado e recebeu um hash para este comando."
    ];
    TakenOver: [
        "Another worker took the execution over, because its owner had not reported in time.",
        "Otro proceso asumió la ejecución, porque su dueño no informó a tiempo.",
        "Outro processo assumiu a execução, porque seu dono não informou a tempo."
    ];
    Bound: [
        "It was released: one attempt may execute it. What was demanded had been given.",
        "Se liberó: un intento puede ejecutarlo. Lo exigido se había dado.",
        "Foi liberado: uma tentativa pode executá-lo. O exigido havia sido dado."
    ];
    BindRefused: ["Release was refused, because {}.", "Se negó liberarlo, porque {}.", "A liberação foi recusada, porque {}."];
    ResultCame: ["The result was reported: {}.", "Se informó el resultado: {}.", "O resultado foi informado: {}."];
}
