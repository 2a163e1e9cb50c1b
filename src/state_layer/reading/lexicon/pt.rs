//! Portuguese, as written in Brazil.

use super::{Class, Sign};

pub(super) const CLASSES: &[Class] = &[
    (
        Sign::Ask,
        "qual|quais|quando|onde|aonde|quem|por que|porque sera|como|quanto|quantos|quanta|quantas|o que|\
         que horas|sera que|tem|tem como|da pra|da para|posso|podemos|pode me|voces|vcs|vc|voce|alguem|\
         existe|aceita|aceitam|fazem|entregam|vale a pena|so pra eu saber|so pra saber|so curiosidade|\
         curiosidade|sabe se|saberia|e se",
    ),
    (
        Sign::If,
        "se|caso|a menos que|a nao ser que|desde que|supondo|suponha|imagina|imagine|imaginando|digamos|\
         hipoteticamente|em teoria|na hipotese|dependendo|quem sabe|se por acaso|contanto que|vai que",
    ),
    (
        Sign::Wish,
        "estamos vendo|to vendo|estamos avaliando|estudando|to na duvida|que inveja|bem que podia|vamos ver|queria que|gostaria que|quem dera|tomara|oxala|espero|espero que|acho que|acho|creio|penso que|\
         talvez|deveria|deveriam|deviamos|devia|poderia ser|podia ser|seria|seriam|sera que|pensando em|\
         pensei em|pensamos em|to pensando|estou pensando|estamos pensando|penso em|considerando|cogitando|\
         cogito|avaliando|sugiro|sugestao|sugere|sugeriu|sugerir|proponho|recomendo|provavelmente|\
         possivelmente|parece que|nao sei se|nao tenho certeza|bem que|preferia|prefiro que|adoraria|amaria|\
         sonho|quem me dera|capaz de|pode ser que|algum dia|um dia|na duvida|pretendo|pretendemos|\
         tenho vontade|dizem",
    ),
    (
        Sign::Draft,
        "rascunho|ideia|ideias|brainstorm|brainstorming|nada decidido|nada definido|nada fechado|\
         nao decidimos|nao esta decidido|ainda nao decidi|a definir|em aberto|preliminar|pra discutir|\
         para discutir|esboco|minuta|simulacao|simulando|exemplo|por exemplo|nao oficial|ainda em estudo|\
         em estudo|provisorio|tentativa|hipotese",
    ),
    (
        Sign::Past,
        "tava|tavam|semana passada|mes passado|ano passado|passada|passado|anteontem|antigamente|originalmente|\
         inicialmente|no comeco|no inicio era|a principio|quase|era|eram|antes era|costumava|costumavamos|\
         naquela epoca|naquele tempo|anos atras|meses atras|dias atras|semanas atras|faz tempo|tinha sido|\
         tinhamos|tinha|estava|estavam|havia|haviamos|na epoca|quando ele nasceu|quando ela nasceu|\
         quando nasceu|quando eu era|lembra|ja foi|da outra vez|da ultima vez|ultima vez|antes a gente|\
         no ano passado|no mes passado|ia ser|iamos|iam",
    ),
    (
        Sign::Once,
        "so hoje|somente hoje|apenas hoje|hoje so|so por hoje|so dessa vez|so desta vez|dessa vez|desta vez|\
         so amanha|por enquanto|temporariamente|temporario|temporaria|provisoriamente|por uns dias|uns dias|\
         alguns dias|por alguns dias|so essa semana|so esta semana|so nessa semana|nessa semana|\
         so por uma vez|uma vez so|so uma vez|excepcionalmente|como excecao|no momento|esse fim de semana|\
         esse final de semana|nesse dia|naquele dia|por essa semana|essa semana|esta semana|nesta semana|\
         vou ficar na casa|enquanto isso|de ferias|cobrindo|cobre|cobrir|no lugar dele hoje|so nesse|\
         so neste|so nessa|so nesta|so pro|so pra essa|so para esse|so agora|hoje apenas|ate segunda ordem|\
         so por agora",
    ),
    (
        Sign::Keep,
        "ainda|continua|continuam|segue|seguem|mantem|mantenha|mantido|mantida|mantemos|manter|permanece|\
         permanecem|igual|o mesmo|a mesma|mesma coisa|como combinado|como esta|deixa como esta|\
         deixe como esta|conforme combinado|confirmado|confirmada|confirmando|confirmo|confirma|\
         so confirmando|nao mudou|nao mudaram|nada mudou|sem mudanca|sem mudancas|sem alteracao|\
         sem alteracoes|ta certinho|esta certo|ta certo|tudo certo|combinado|deixa assim|deixe assim|\
         ficou mesmo",
    ),
    (
        Sign::NoNeed,
        "nao precisa mudar|nao precisa|nao precisam|nao precisa trocar|nao muda|nao mude|nao mudem|\
         nao troca|nao troque|nao cancela|nao cancele|nao cancelem|nao altera|nao altere|nao vamos mudar|\
         nao vou mudar|nao vai mudar|nao vamos trocar|nao vou trocar|nao vou cancelar|nao vamos cancelar|\
         nao foi cancelado|nao foi cancelada|nao foi alterado|nao foi alterada|nao foi adiado|\
         nao foi adiada|nao foi aprovado|nao foi aprovada|nao foi mudado|nao houve|nao mexe|nao mexer|\
         nao quero mudar|nao quero trocar|nao quero cancelar|nao cancelei|nao mudei|nao troquei|\
         sem necessidade|nao e pra mudar|nao e para mudar|nao adiaram|nao mudaram|nao decidi|nao decidimos|\
         desistimos de mudar|desisti de mudar|nao da pra mudar|nao consegui|nao conseguimos|nao tem como",
    ),
    (
        Sign::Remind,
        "me lembra|me lembre|me lembrar|lembre|lembrar de|lembrete|nao esquece de|nao esqueca|nao esquecam|\
         me avisa|me avise|avisa|avise|avisem|me cutuca|me notifica",
    ),
    (
        Sign::Hearsay,
        "pedindo|pede|pedem|disse|disseram|falou|falaram|diz|dizem|contou|comentou|comentaram|ouvi|\
         ouvi dizer|soube que|fiquei sabendo|parece que|segundo ele|segundo ela|alguem|vi que|vi um|vi uma|\
         li que|acha que|acham|quer que|pediu|pediram|perguntou|perguntaram|jura|garantiu|pergunta|\
         oferecendo|ofereceu|passou aqui",
    ),
    (
        Sign::Add,
        "tambem|tb|tbm|adiciona|adicione|adicionar|acrescenta|acrescente|acrescentar|inclui|inclua|incluir|\
         mais um|mais uma|alem disso|alem de|em copia|poe mais|coloca mais|bota mais|soma|some mais|\
         junto com|outro tambem|extra|de brinde|e mais",
    ),
    (
        Sign::Part,
        "ja paguei|ja pagamos|paguei|pagamos|ja gastei|ja gastamos|gastei|gastamos|gastou|ja usei|ja usamos|\
         ate agora|ate aqui|ate o momento|arrecadamos|arrecadou|arrecadado|juntamos|ja juntamos|economizei|\
         falta|faltam|restam|sobrou|sobraram|ja recebemos|ja recebi|recebi|recebemos|ja vendemos|vendemos|\
         investi|ja deu|deles sao|delas sao|parcial",
    ),
    (
        Sign::Other,
        "de frente|em frente|da frente|aqui perto|la do|de outra loja|do outro lado|maioria|em media|geralmente|normalmente|em geral|o mercado|no mercado|por ai|outro|outra|outros|\
         outras|concorrente|concorrentes|concorrencia|da esquina|do lado|ao lado|do vizinho|da vizinha|dele|\
         dela|deles|delas|turma a|turma b|turma c|grupo a|grupo b|grupo c|da filial|de outro|de outra|\
         em outro|em outra|novo cliente|nova cliente",
    ),
    (
        Sign::Relation,
        "irma|irmao|irmas|irmaos|marido|esposa|esposo|mulher|filha|filho|filhas|filhos|mae|pai|pais|vizinha|\
         vizinho|vizinhos|amiga|amigo|amigos|amigas|prima|primo|tia|tio|sobrinha|sobrinho|avo|vo|sogra|\
         sogro|cunhada|cunhado|colega|colegas|namorada|namorado|noiva|noivo|neta|neto|estagiario|estagiaria|\
         genro|nora|padrasto|madrasta|inquilino|inquilina",
    ),
    (
        Sign::Ruler,
        "diretoria|empresa|gerencia|rh|juridico|financeiro|conselho|presidencia|comite|ceo|cfo|presidente|\
         diretor|diretora|gerente|chefe|chefia|medico|medica|doutor|doutora|cliente|banco|escola|companhia|\
         administracao|equipe|time|matriz",
    ),
    (
        Sign::Request,
        "pode|podem|poderia|poderiam|quero|queremos|gostaria de|queria|queriamos|preciso|precisamos|\
         por favor|pfv|pf|por gentileza|tem como|consegue|da pra voce|favor|vou querer|faz favor",
    ),
    (
        Sign::Instead,
        "em vez de|em vez do|em vez da|em vez dos|em vez das|ao inves de|ao inves do|ao inves da|\
         ao inves dos|ao inves das|no lugar de|no lugar do|no lugar da|no lugar dos|no lugar das|\
         em lugar de|em lugar do|em lugar da|substituindo|inves de|inves do|inves da",
    ),
    (Sign::Not, "nao|n|nem"),
    (
        Sign::NoLonger,
        "nao mais|nao e mais|nao sao mais|nao esta mais|nao ta mais|nao sera mais|nao trabalha mais|\
         nao fica mais|nao vai mais|nao vou mais|nao quero mais|nao usamos mais|nao uso mais|nao temos mais|\
         deixou de ser|ja nao e|ja nao",
    ),
    (
        Sign::Swap,
        "substituido|substituida|troca|troque|trocar|trocamos|troquei|trocou|trocaram|trocando|substitui|\
         substitua|substituir|substituimos|substituiu|substitui-se|substituindo|muda|mude|mudar",
    ),
    (
        Sign::Over,
        "assume|assumiu|assumira|assumir|vai assumir|passa a ser o|passa a ser a|sera o novo|sera a nova|\
         e o novo|e a nova|agora quem cuida|quem cuida|quem cuida agora|vai cuidar|vai cuidar de|\
         ficou responsavel|fica responsavel|sera responsavel|entra no lugar|entrou no lugar|foi promovido a|\
         foi promovida a|foi nomeado|foi nomeada|substitui|substituira|vai substituir|vai liderar|\
         lidera agora|vai tocar|vira|virou|toma conta|ficou com",
    ),
    (
        Sign::Leave,
        "saiu|saiu da empresa|saiu do|saiu da|se desligou|foi desligado|foi desligada|renunciou|\
         pediu demissao|pediu as contas|foi demitido|foi demitida|se aposentou|nao trabalha mais|deixou a|\
         deixou o|deixou o cargo|nao esta mais|nao ta mais|foi embora|largou|se demitiu|nao faz mais parte|\
         nao vai poder|nao pode mais|nao vai conseguir|nao vem mais|nao vira mais|desistiu|\
         cancelou com a gente|faleceu|esta fora|ta fora|caiu fora",
    ),
    (
        Sign::Move,
        "me colocaram no|me colocaram na|me botaram no|me botaram na|me puseram no|me puseram na|me passaram pro|me passaram pra|joguei|jogamos|jogaram|me deu ate|me deram ate|nos deu ate|nos deram ate|deu ate|regula|regule|regulem|ajusta|ajuste|ajustem|foi fixad*|fixado em|teve que ir|vai ter que ir|tem que ir pra|passou a|subimos|revisar|revisamos|revisando|revisou|revisaram|alter*|atualiz*|remarc*|reagend*|adiou|prorrog*|\
         antecip*|adiant*|aument*|diminu*|reduz*|ajust*|reajust*|estend*|ampliou|ampliamos|deu ate|\
         deram ate|temos ate|tenho ate|renegoci*|mudou|mudaram|foi de|vai de|upgrade|downgrade|mudei|\
         mudamos|muda|mude|mudem|mudar|mudando|passou|passaram|passa|passam|passar|passei|passamos|ficou|\
         ficaram|fica|transferido|transferida|transferiram|transferiu|transferir|transferi|remarcado|\
         remarcada|remarcaram|remarcou|remarcar|remarquei|remarcamos|remarca|remarque|reagendado|reagendada|\
         reagendaram|reagendou|reagendar|reagendei|reagendamos|adiado|adiada|adiaram|adiar|adiei|adiamos|\
         adia|adie|prorrogado|prorrogada|prorrogaram|prorrogou|prorrogar|prorrogamos|estendido|estendida|\
         estenderam|estendeu|estender|antecipado|antecipada|anteciparam|antecipou|antecipar|antecipamos|\
         antecipei|adiantado|adiantada|adiantaram|adiantou|adiantar|adiantei|adiantamos|atrasou|atrasaram|\
         atrasado|atrasada|aumentou|aumentaram|aumentar|aumentado|aumentada|aumenta|aumente|aumentei|\
         aumentamos|subiu|subiram|sobe|subir|subi|diminuiu|diminuiram|diminuir|diminui|reduziu|reduziram|\
         reduzir|reduzido|reduzida|reduzimos|reduz|reduza|caiu|baixou|baixaram|baixar|baixa|baixamos|cortou|\
         cortaram|cortar|cortado|alterado|alterada|alteraram|alterou|alterar|alterei|alteramos|altera|\
         altere|atualizado|atualizada|atualizaram|atualizou|atualizar|atualizei|atualizamos|atualiza|\
         atualize|trocado|trocada|trocaram|trocou|trocar|troquei|trocamos|troca|troque|migrou|migramos|\
         migrei|migrar|migraram|joga|jogou|jogaram|empurrou|empurraram|puxa|puxaram|puxou|encurtou|\
         encurtaram|ajustado|ajustada|ajustou|ajustaram|ajustar|reajustado|reajustada|reajustaram|reajustou|\
         reajuste|renomeado|renomeada|pula|pulou|foi pra|foi para|foi a|foi pro|vai pra|vai para|vai pro|\
         corrigido|corrigida|coloca|coloque|bota|contratei o plano|melhorei|realocado|realocada|realocaram|\
         deslocado|deslocada|redirecionado|ampliado|ampliada|ampliaram|elevado|elevada|elevou|limitado|\
         limitada|fechou em|fechamos em|ficou em|revisado|revisada|saiu por|saiu de",
    ),
    (
        Sign::End,
        "dei baixa|deu baixa|demos baixa|deram baixa|saimos da|saimos do|sai da|sai do|largamos|deixamos a|deixamos o|cancela|cancele|cancelem|cancelar|\
         cancelo|cancelei|cancelamos|encerra|encerrar|encerre|encerraram|encerrou|encerramos|desmarca|\
         desmarque|desmarcar|desmarcaram|desmarcou|desmarquei|desmarcamos|esquece|esqueca|esquecam|tira|\
         tire|tirem|tirar|remove|remova|remover|exclui|exclua|excluir|apaga|apague|apagar|suspende|suspenda|\
         suspender|suspenderam|suspendeu|abandonar|abandonamos|desisti|desistimos|desistiu|desistiram|\
         rescindir|rescindimos|rescindiu|rescindiram|parei|paramos|para de|corta|corte|acabou|acabaram|\
         nao vai rolar|nao rola mais|nao vai ter|nao vai mais ter|nao vamos mais|nao vou mais|\
         nao precisamos mais|nao preciso mais|nao vai acontecer|da baixa|dar baixa|de baixa|descarta|\
         descarte|descartamos|anula|anule|anular|anularam|revogaram|revogou|larguei|larga",
    ),
    (
        Sign::Gone,
        "ficou apertad*|ficou pequen*|ficou grande|ficou car*|muito car*|nao serve|nao serviu|nao funciona|nao funcionou|nao posso|nao consigo|nao da|lotad*|ta cheio|ta cheia|esta cheio|esta cheia|ocupad*|indisponivel|perdi o|perdi a|bateu o|adoeceu|sem vaga|ultimo dia|nao volta mais|esta de saida|ta de saida|vai embora|vai sair|acabou|acabaram|esgotou|esgotaram|quebrou|quebraram|faliu|fechou as portas|fechou|furou|furaram|falhou|\
         caducou|expirou|venceu|saiu de linha|saiu do ar|saiu da|saiu do|saiu de|sai da|sai do|saimos da|saimos do|\
         saimos de|se aposentou|aposentou|se demitiu|pediu demissao|pediu as contas|foi demitid*|foi embora|\
         foi interditad*|foi vendid*|nao entrega mais|nao atende mais|nao trabalha mais|\
         nao deposita mais|nao faz mais|nao existe mais|nao vem mais|nao tem mais|nao da mais|nao quero|\
         nao vou mais|nao vai dar|chega de|nada de|cansei de|enjoei de|larguei|largou|largamos|deixei|deixou|deixamos|\
         deixaram|abandonei|parei|parou|paramos|desisti|desistiu|desistimos|desistiram|desmarcou|desmarcaram|\
         desmarquei|cancelou|cancelaram|cancelei|cancelamos|encerrei|encerrou|encerramos|fechei a conta|\
         vendi|vendemos|vendeu|devolvi|devolveu|devolvemos|pifou|estragou|pro conserto|para o conserto|se mudou|\
         mudou de|nao gostei|rompemos|rompeu|rescindi*|dispensei|dispensamos|dispensaram|tirei|tiramos|tiraram|\
         pulamos|pulei|aposentamos|esquece|esqueca|esquecam|trocou de|faleceu|morreu|nao deu certo|deu ruim|\
         caiu fora|pulou fora|quebrou a perna|ta fora|esta fora|lotou|ficou indisponivel|foi descontinuad*",
    ),
    (
        Sign::Stead,
        "no lugar|no lugar dele|no lugar dela|no lugar deles|em seu lugar|no seu lugar|assumiu|assume|entrou no lugar|entra no lugar",
    ),
    (
        Sign::Begin,
        "assinei|assinamos|renovei|estamos na|estamos no|estou na|estou no|to na|to no|prefiro|comecei|comecou|comecamos|comecaram|comeca|quero|queremos|vem de|vou de|vou com|fiquei com|ficamos com|\
         ficou com|fica com|peguei|pegamos|pegou|pega|entra|entrou|entraram|entro|arrumei|arrumamos|contratei|\
         contratamos|faco|faz|fazemos|faremos|uso|usamos|usem|usa|use|vamos usar|vamos lancar|vamos com|vamos de|\
         lancamos|mudei pra|mudei para|me inscrevi|inscrevi|matriculei|adotei|adotamos|passei pra|passei para|\
         fechei com|fechamos com|quem cuida|quem faz|quem atende|vai tocar|toca|vai fazer|assume|assumiu|toma conta|\
         imprime em|imprime|pinta de|pintem de|vai de|vao de|vou na|tenho|temos|compramos|compro|tentamos|alugamos|\
         reservei|reservamos|marquei|marcamos|marcaram|me encaixaram|encaixaram|remarcaram|vai ser|venha|venham|vao",
    ),
    (
        Sign::Status,
        "autorizou|autorizaram|assinou|assinaram|recebido|recebida|atracou|zarpou|partiu|coletado|coletada|instalado|instalada|caducou|revogado|revogada|desistiu|compareceu|nao compareceu|transferida|internado|internada|de alta|teve alta|aprovou|liberaram|liberou|deferiu|consertaram|consertou|terminou|terminaram|em manutencao|em transito|aberto|aberta|reagendado|aprovado|aprovada|aprovados|aprovadas|aprovou|aprovaram|reprovado|reprovada|reprovou|reprovaram|\
         rejeitado|rejeitada|rejeitou|rejeitaram|negado|negada|negou|negaram|recusado|recusada|recusou|\
         recusaram|indeferido|indeferida|deferido|deferida|cancelado|cancelada|cancelados|canceladas|\
         cancelaram|cancelou|fechado|fechada|encerrado|encerrada|preenchido|preenchida|resolvido|resolvida|\
         resolveu|resolveram|concluido|concluida|concluiu|concluiram|finalizado|finalizada|terminado|\
         terminada|pronto|pronta|prontos|entregue|entregues|enviado|enviada|despachado|despachada|chegou|\
         chegaram|devolvido|devolvida|reembolsado|reembolsada|pago|paga|quitado|quitada|assinado|assinada|\
         vencido|vencida|expirou|expirado|lancado|lancada|no ar|atrasado|atrasada|adiado|adiada|suspenso|\
         suspensa|pausado|pausada|bloqueado|bloqueada|liberado|liberada|consertado|consertada|vendido|\
         vendida|esgotado|esgotada|esgotou|indisponivel|disponivel|aceito|aceita|aceitaram|aceitou|\
         autorizado|autorizada|publicado|publicada|reaberto|reaberta|ativado|ativada|desativado|desativada|\
         interditado|interditada|congelado|congelada|em andamento|em analise|em revisao|em producao|perdido|\
         ganho|renovado|renovada|renovaram|extraviado|faturado|confirmado|caiu na conta|lotado|lotada|\
         foi pro ar|barrado|barrada|vetado|vetada|vetou|vetaram|homologado|homologada|embargou|embargado|\
         embargada|embargaram|interditou|interditaram|paralisou|paralisaram|paralisado|paralisada|concedido|\
         concedida|concedeu|concederam|expedido|expedida|emitido|emitida|saiu pra entrega|saiu para entrega|\
         em rota|a caminho|saiu do ar|no ar de novo|foi suspenso|foi suspensa",
    ),
    (
        Sign::Back,
        "volta pro|volta pra|volta para|volta ao|volta a|voltar pro|voltar pra|voltar para|voltar ao|\
         voltar a|volte para|volte pro|volte pra|voltamos pro|voltamos pra|voltamos para|voltamos ao|\
         voltei pro|voltei pra|voltei para|voltei ao|voltou a ser|voltou para|voltou pra|voltou pro|\
         voltou ao|retornar ao|retornar para|retomar|reverter para|reverte para|desfaz|desfazer|voltando ao|\
         voltando pro|voltando pra|voltando para",
    ),
    (
        Sign::Choose,
        "fomos pra|fomos para|fomos pro|fui pra|fui pro|estamos com|compramos da|compramos do|compramos de|\
         vamos de|vamos com|fechamos com|fechei com|fechou com|fechamos|fechei|vai ser|vai de|optamos por|\
         optei por|optou por|optamos pelo|optamos pela|escolhemos|escolhi|escolheu|escolheram|decidimos|\
         decidimos por|decidi|decidiu|decidiram|decidido|ficamos com|fico com|ficou decidido|contratamos|\
         contratei|contratou|alugamos|aluguei|compramos|comprei|reservamos|reservei|assinamos com|\
         assinei com|no fim|no final|acabamos|acabei|ganhou|venceu|deu|oficial|oficialmente|definido|\
         definida|definimos|vou de|vou com|vou pagar|vou levar|vou querer|batemos o martelo|acordamos|\
         acordado|combinamos|concordamos|concordaram|acertamos|e isso",
    ),
    (
        Sign::Now,
        "agora|a partir de|a partir do|a partir da|daqui pra frente|daqui para frente|daqui em diante|\
         de agora em diante|de hoje em diante|doravante|desde|hoje|atualmente|ja to|ja estou|ja esta|ja ta|\
         com efeito|novo|nova|novos|novas|passa a valer|passa a ser|pasa a ser|de vez|vale a partir|\
         ultimamente",
    ),
    (
        Sign::Direct,
        "traduz|traduza|traduzam|traduzir|imprime|imprima|imprimam|pinta|pinte|pintem|embala|embale|manda|mande|mandem|mandar|envia|envie|enviem|enviar|entrega|entregue|entreguem|entregar|usa|use|\
         usem|usar|liga|ligue|liguem|fala com|fale com|falem com|falar com|responde|responda|respondam|\
         responder|escreve|escreva|paga|pague|pagar|cobra|cobre|anota|anote|anotem|salva|salve|salvem|\
         coloca|coloque|coloquem|colocar|bota|bote|poe|ponha|marca|marque|marquem|marcar|agenda|agende|\
         agendem|faz|faca|facam|fazer|deixa|deixe|leva|leve|traz|traga|procura|procure|procurem|trata com|\
         trate com|tratem com|considera|considere|considerem|chama|chame|vai|atende|contata|contate|\
         registra|registre|emite|emita|fatura",
    ),
    (
        Sign::Correct,
        "mudou de ideia|mudaram de ideia|na verdade|na vdd|na real|alias|corrigindo|correcao|corrige|corrija|retificando|retificacao|errata|\
         erro meu|errei|me enganei|me confundi|digitei errado|escrevi errado|mandei errado|falei errado|\
         passei errado|anotei errado|desculpa|desculpe|perdao|ops|opa|o certo e|o correto e|a certa e|\
         a correta e|certo e|correto e|quis dizer|quero dizer|digo|ou melhor|melhor|mudanca de planos|\
         mudaram os planos|mudou o plano|mudei de ideia|mudamos de ideia|pensando bem|pensando melhor|\
         esquece o que|esquece isso|esqueca o que|ignora|ignore|ignorem|desconsidera|desconsidere|\
         desconsiderem|deixa pra la|deixa quieto|espera|pera|peraí|perai|nao espera|atualizando|atualizacao|\
         aviso|em vez disso|no lugar dele|no lugar dela|no lugar deles|ao inves disso|esta errado|ta errado|\
         estava errado|tava errado|era pra ser|na realidade|no fim das contas|faz assim|nada disso|\
         me expressei mal",
    ),
    (
        Sign::Make,
        "faz|faca|faca-se|deixa em|deixe em|coloca|coloque|poe|bota|melhor|muda pra|muda para|mude para|\
         troca pra|troca para|troque para|altera para|altera pra",
    ),
    (
        Sign::Is,
        "pesa|pesam|mede|medem|tem|somam|ta saindo a|ta saindo por|saindo a|saindo por|custando|esta saindo a|ta custando|e|eh|sao|esta|ta|estao|tao|sera|serao|vai ser|vao ser|somos|fica|ficou|custa|sai|sai por|vale|\
         comeca|termina|vence|moro|mora|moro em|to morando|estou morando|morando|cai|cai no|cai na|chega|\
         parte|abre|fecha|atende|funciona|passa a ser|passam a ser|deve ser|tem que ser|acontece|rola|chama|\
         se chama|acaba|vamos ser|vamos estar|vamos em|equivale|somos em|seremos|seremos em|vou pagar|roda",
    ),
    (
        Sign::To,
        "no nome de|em nome de|no nome da|no nome do|para|pra|pro|pros|pras|p|p/|a|ao|aos|as|ate|em|no|na|\
         nos|nas|por|pelo|pela|com|de|do|da|e|sao|eh",
    ),
    (Sign::From, "de|do|da|das|dos|era|eram"),
    (Sign::By, "em mais|mais"),
    (Sign::And, "e|mas|porem|entao|porque|pois|que|quando|onde|pq|so que|dai|ai"),
    (
        Sign::Stop,
        "o|a|os|as|um|uma|uns|umas|de|do|da|dos|das|no|na|nos|nas|em|para|pra|pro|pras|pros|com|que|e|eh|\
         sao|mais|por|pelo|pela|ao|aos|eu|voce|vc|vcs|voces|ele|ela|eles|elas|gente|a gente|meu|minha|meus|\
         minhas|seu|sua|seus|suas|nosso|nossa|nossos|nossas|foi|foram|ser|vai|vao|vou|vamos|esta|ta|to|\
         estou|tem|ter|ja|tambem|so|muito|isso|isto|esse|essa|este|esses|essas|aquele|aquela|ai|aqui|la|ate|\
         se|me|te|lhe|nao|sim|ok|oi|ola|bom|boa|dia|tarde|noite|obrigado|obrigada|por favor|pfv|favor|pode|\
         podem|moca|moco|pessoal|galera|turma|kkk|viu|ne|hj|hoje|amanha|ontem|agora|entao|mas|pois|porque|\
         quando|como|qual|sobre|sem|infelizmente|felizmente|oba|quero|queria|preciso|aviso|ficou|fica|faz|\
         tipo|cada|lugar|vez|sera|era|eram|msm|todo|toda|todos|todas|tudo|nada|num|numa|desse|dessa|deste|\
         desta|nesse|nessa|daqui|frente",
    ),
];
