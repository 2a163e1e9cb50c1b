//! Spanish.

use super::{Class, Sign};

pub(super) const CLASSES: &[Class] = &[
    (
        Sign::Ask,
        "que hora|cual|cuales|cuando|donde|adonde|quien|quienes|por que|cuanto|cuantos|cuanta|cuantas|como|\
         hay|tienen|tenes|tienes|se puede|puedo|podemos|alguien|existe|aceptan|hacen|entregan|sabes si|\
         saben si|sabe si|vale la pena|solo curiosidad|por curiosidad|solo para saber|habra|sera que|y si",
    ),
    (
        Sign::If,
        "si|en caso de|en caso de que|en caso que|a menos que|a no ser que|siempre y cuando|siempre que|\
         suponiendo|supongamos|supon|imagina|imaginate|imaginemos|digamos|hipoteticamente|en teoria|\
         en la hipotesis|dependiendo|depende de|por si|con tal de que|salvo que",
    ),
    (
        Sign::Wish,
        "estamos viendo|estoy viendo|estamos evaluando|estudiando|que envidia|ojala|vamos a ver|ya veremos|ojala|espero|espero que|creo que|creo|pienso que|opino|me parece que|parece que|quizas|quiza|\
         tal vez|talvez|a lo mejor|capaz|capaz que|deberia|deberian|deberiamos|podria ser|podriamos|seria|\
         serian|fuera|fuese|estaria|pensando en|pienso en|pensamos en|pense en|estoy pensando|\
         estamos pensando|considerando|contemplando|evaluando|sugiero|sugerencia|sugieren|sugirio|propongo|\
         recomiendo|probablemente|posiblemente|puede que|no se si|no estoy segur*|me gustaria que|\
         quisiera que|preferiria|me encantaria|sueno con|algun dia|un dia de estos|dudo|tengo ganas|\
         pienso cambiar|dicen",
    ),
    (
        Sign::Draft,
        "borrador|idea|ideas|lluvia de ideas|nada decidido|nada definido|nada cerrado|sin decidir|\
         por definir|a definir|no esta decidido|preliminar|para discutir|boceto|minuta|simulacion|simulando|\
         ejemplo|por ejemplo|no oficial|en estudio|provisional|tentativ*|hipotesis|propuesta inicial",
    ),
    (
        Sign::Past,
        "semana pasada|mes pasado|ano pasado|pasado|pasada|anteayer|antiguamente|originalmente|inicialmente|\
         al principio|en un principio|casi|era|eran|antes era|solia|soliamos|solian|en aquella epoca|\
         en aquel entonces|hace anos|hace meses|hace semanas|hace dias|hace tiempo|habia|habiamos|habian|\
         tenia|teniamos|tenian|estaba|estaban|cuando nacio|cuando era|cuando eramos|te acordas|te acuerdas|\
         recuerdas|recordas|la ultima vez|la otra vez|iba a|ibamos a|iban a|en su momento|anterior",
    ),
    (
        Sign::Once,
        "solo hoy|hoy solo|solo por hoy|solamente hoy|nada mas hoy|por hoy|solo esta vez|por esta vez|\
         esta vez|solo manana|por ahora|por el momento|de momento|temporalmente|temporal|provisionalmente|\
         provisoriamente|unos dias|algunos dias|por unos dias|un par de dias|solo esta semana|esta semana|\
         por esta semana|por unica vez|una sola vez|excepcionalmente|como excepcion|este fin de semana|\
         ese dia|aquel dia|mientras tanto|de vacaciones|cubre|cubriendo|cubrir|reemplaza hoy|\
         hasta nuevo aviso|solo para|me quedo unos|solo este|solo esta|solo en",
    ),
    (
        Sign::Keep,
        "aun|todavia|sigue|siguen|continua|continuan|mantiene|mantienen|mantengo|mantenemos|mantener|\
         mantengan|permanece|permanecen|igual|lo mismo|el mismo|la misma|como quedamos|como acordamos|\
         como esta|dejalo asi|deja como esta|dejalo como esta|confirmado|confirmada|confirmando|confirmo|\
         confirma|solo confirmo|no cambio|no cambia|no ha cambiado|nada cambio|nada cambia|sin cambios|\
         sin cambio|sin modificaciones|esta bien asi|todo igual|nomas|tal cual|asi esta bien",
    ),
    (
        Sign::NoNeed,
        "no hace falta|no es necesario|no necesito cambiar|no necesitamos cambiar|no cambies|no cambien|\
         no cambie|no canceles|no cancelen|no cancele|no muevas|no muevan|no mueva|no vamos a cambiar|\
         no voy a cambiar|no va a cambiar|no voy a cancelar|no vamos a cancelar|no fue cancelad*|\
         no fue cambiad*|no se cancelo|no se movio|no se cambio|no se modifico|no se aprobo|no se pospuso|\
         no hubo|no toques|no toquen|no quiero cambiar|no quiero cancelar|no cambiamos|no cancelamos|\
         no pudimos|no pude|no ha sido|no han|no decidimos|no hemos|no he|no hay que|decidimos no|\
         al final no cambiamos|no se puede",
    ),
    (
        Sign::Remind,
        "recuerdame|recuerdenme|recordame|recordarme|recuerda que|recuerden que|recordatorio|recordarnos|\
         no olvides|no olviden|no te olvides|avisame|avisenme|aviseme|avisar|notificame|hazme acordar|\
         haceme acordar",
    ),
    (
        Sign::Hearsay,
        "pidiendo|pide|piden|dijo|dijeron|dice|dicen|conto|comento|comentaron|oi|escuche|me entere|supe que|\
         parece que|segun el|segun ella|alguien|vi que|vi un|vi una|lei que|cree que|creen|quiere que|pidio|\
         pidieron|pregunto|preguntaron|jura|aseguro|asegura|ofreciendo|ofrecio|mencionan|menciono",
    ),
    (
        Sign::Add,
        "tambien|ademas|agrega|agregale|agregar|agreguen|agregue|anade|anadir|anadan|sumale|suma|sumar|\
         incluye|incluyan|incluir|otra mas|otro mas|un mas|una mas|aparte|en copia|junto con|extra|de paso",
    ),
    (
        Sign::Part,
        "ya pague|ya pagamos|pague|llevo pagad*|llevamos pagad*|llevo gastad*|llevamos gastad*|gaste|\
         gastamos|ya gaste|ya gastamos|gastado|ya use|ya usamos|hasta ahora|hasta el momento|hasta hoy|\
         recaudamos|llevamos recaudad*|juntamos|llevamos|llevo|ahorre|falta|faltan|quedan|restan|sobraron|\
         sobro|ya recibimos|ya recibi|recibi|recibimos|vendimos|inverti|de ellos|de ellas|parcial|son de la",
    ),
    (
        Sign::Other,
        "de enfrente|enfrente|de la competencia|aqui cerca|del otro lado|mayoria|en promedio|generalmente|normalmente|en general|el mercado|por lo general|otro|otra|otros|\
         otras|competidor*|competencia|de la esquina|de al lado|del lado|del vecino|de la vecina|de el|\
         de ella|de ellos|de ellas|grupo a|grupo b|grupo c|turno b|de la sucursal|en otro|en otra|de otro|\
         de otra|nuevo cliente|nueva cliente|clienta nueva",
    ),
    (
        Sign::Relation,
        "hermana|hermano|hermanas|hermanos|marido|esposa|esposo|mujer|hija|hijo|hijas|hijos|madre|mama|\
         padre|papa|padres|vecina|vecino|vecinos|amiga|amigo|amigos|amigas|prima|primo|tia|tio|sobrina|\
         sobrino|abuela|abuelo|suegra|suegro|cunada|cunado|colega|colegas|companero|companera|companeros|\
         novia|novio|nieta|nieto|becario|becaria|pasante|yerno|nuera|inquilino|inquilina",
    ),
    (
        Sign::Ruler,
        "direccion|empresa|gerencia|rrhh|legal|finanzas|consejo|presidencia|comite|ceo|cfo|presidente|\
         presidenta|director|directora|gerente|jefe|jefa|medico|medica|doctor|doctora|cliente|banco|escuela|\
         colegio|compania|administracion|equipo|junta|aerolinea",
    ),
    (
        Sign::Request,
        "puedes|podes|puede|pueden|podria|podrias|podrian|quiero|queremos|quisiera|quisieramos|me gustaria|\
         nos gustaria|necesito|necesitamos|por favor|porfa|porfavor|pls|favor de|hazme el favor|\
         voy a querer",
    ),
    (
        Sign::Instead,
        "en vez de|en vez del|en lugar de|en lugar del|en reemplazo de|en reemplazo del|en sustitucion de|\
         reemplazando a|sustituyendo a|y no",
    ),
    (Sign::Not, "no|ni|sino"),
    (
        Sign::NoLonger,
        "ya no|ya no es|ya no son|ya no esta|ya no va|ya no sera|no mas|ya no queremos|ya no quiero|\
         ya no usamos|ya no uso|dejo de ser|nunca mas",
    ),
    (
        Sign::Swap,
        "reemplazado|reemplazada|sustituido|sustituida|cambia|cambie|cambien|cambiar|cambiame|cambiamos|\
         cambio|cambiaron|reemplaza|reemplace|reemplacen|reemplazar|reemplazamos|reemplazo|sustituye|\
         sustituya|sustituir|sustituimos|sustituyo|canjea|permuta",
    ),
    (
        Sign::Over,
        "lo reemplazo|la reemplazo|lo reemplaza|la reemplaza|lo sustituye|la sustituye|lo sustituyo|\
         la sustituyo|lo reemplazara|la reemplazara|asume|asumio|asumira|asumir|va a asumir|queda como|\
         quedo como|quedara como|pasa a ser el|pasa a ser la|sera el nuevo|sera la nueva|es el nuevo|\
         es la nueva|ahora lo lleva|ahora la lleva|ahora lleva|nos lleva|lleva todo|se encarga|se encargara|\
         se hace cargo|se hara cargo|toma el lugar|tomara el lugar|ocupa el lugar|entra en lugar|\
         fue nombrad*|fue ascendid*|reemplaza a|reemplazara a|reemplazo a|sustituye a|sustituira a|\
         va a liderar|lidera|toma las riendas|va a llevar|pasa a llevar|queda a cargo|estara a cargo|\
         esta a cargo",
    ),
    (
        Sign::Leave,
        "renuncio|se fue|se fue de|dejo la empresa|dejo el cargo|dejo el puesto|dejo el equipo|se jubilo|\
         fue despedid*|lo despidieron|la despidieron|ya no trabaja|ya no esta|ya no forma parte|\
         se desvinculo|se retiro|salio de la empresa|se marcho|dimitio|causo baja|ya no puede|ya no viene|\
         no va a poder|no podra|se bajo|desistio|nos cancelo|fallecio|esta fuera",
    ),
    (
        Sign::Move,
        "me pusieron en|nos pusieron en|me cambiaron a|me asignaron|nos asignaron|reasignaron|me reubicaron en|me dio hasta|me dieron hasta|nos dio hasta|nos dieron hasta|se fija en|se fijo en|se va a|se fue a|se van a|saltamos|queda fijado|revisamos|revisar|reviso|revisaron|revisando|reprogram*|reagend*|pospon*|pospus*|aplaz*|posterg*|\
         prorrog*|extend*|adelantaron|retras*|aument*|disminu*|reduj*|modific*|actualiz*|ajust*|traslad*|\
         reubic*|dio hasta|nos dio|nos dieron|dieron hasta|tenemos hasta|renegoci*|fue de|upgrade|downgrade|\
         cambio|cambiaron|cambie|cambiamos|cambia|cambien|cambiar|cambiando|cambiado|cambiada|paso|pasaron|\
         pasa|pasan|pasar|pase|pasamos|pasalo|pasala|pasarlo|pasarla|quedo|quedaron|queda|quedan|traslado|\
         trasladaron|traslada|trasladar|trasladado|trasladada|movio|movieron|mover|muevan|mueve|mueva|\
         movimos|movi|movido|movida|reprogramo|reprogramaron|reprogramar|reprograma|reprogramado|\
         reprogramada|reprogramamos|reagendo|reagendaron|reagendar|reagenda|reagendado|reagendada|pospuso|\
         pospusieron|posponer|pospuesto|pospuesta|posponen|pospongan|aplazo|aplazaron|aplazar|aplazado|\
         aplazada|postergo|postergaron|postergar|postergado|postergada|postergamos|prorrogo|prorrogaron|\
         prorrogar|prorrogado|prorrogada|extendio|extendieron|extender|extendido|extendida|amplio|ampliaron|\
         ampliar|ampliado|ampliada|adelanto|adelantar|adelantado|adelantada|adelantamos|adelante|retraso|\
         retrasaron|retrasar|retrasado|retrasada|atraso|atrasaron|demoro|demoraron|aumento|aumentaron|\
         aumentar|aumentado|aumenta|aumenten|aumentamos|subio|subieron|sube|suban|subir|subi|subimos|bajo|\
         bajaron|baja|bajar|bajamos|bajen|disminuyo|disminuyeron|redujo|redujeron|reducir|reducido|reducida|\
         redujimos|reduce|reduzcan|recorto|recortaron|recortar|recortado|recortada|modifico|modificaron|\
         modificar|modificado|modificada|modifica|modifiquen|modificamos|actualizo|actualizaron|actualizar|\
         actualizado|actualizada|actualiza|actualicen|actualice|actualizamos|ajusto|ajustaron|ajustar|\
         ajustado|ajustada|migro|migramos|migrar|migraron|mude|mudamos|mudo|mudaron|me mude|nos mudamos|\
         pasarme|pasarnos|ascendio|cayo|rebajo|rebajaron|acorto|acortaron|corrieron|corrio|correr|renombro|\
         renombraron|salio en|cerro en|cerramos en|limito|limitaron|fijaron en|fijo en|redirige|redirijan|\
         desplazo|desplazado|reubico|reubicaron|reubicado|reubicada|pon|ponlo|ponla|pongan|poné|pone",
    ),
    (
        Sign::End,
        "di de baja|dio de baja|dieron de baja|dejamos|deje|cancela|cancele|cancelen|cancelar|cancelo|cancelamos|cancelalo|cancelala|anula|anule|\
         anulen|anular|anulamos|suspende|suspendan|suspender|suspendieron|suspendio|suspendimos|den de baja|\
         dar de baja|da de baja|dame de baja|denme de baja|dimos de baja|di de baja|elimina|eliminen|\
         eliminar|elimine|borra|borren|borrar|quita|quiten|quitar|quitamos|saca|saquen|sacar|olvida|olviden|\
         olvidense|olvidate|termina|terminaron|terminar|terminamos|rescindir|rescindimos|rescindio|descarta|\
         descarten|descartamos|descartar|abandonamos|abandonaron|deja de|dejen de|dejamos de|deje de|\
         se acabo|no va mas|no se hace mas|no va a haber|ya no voy|ya no vamos|ya no necesito|\
         ya no necesitamos|ya no quiero|revocaron|revoco|desisti|desistimos|corta|corten|no se hara|\
         no habra",
    ),
    (
        Sign::Gone,
        "me queda chic*|me queda grande|me queda pequen*|no me sirve|no sirve|no me gusta|no funciona|no puedo|no podemos|esta llen*|esta complet*|ocupad*|no disponible|perdi el|perdi la|choco el|choco la|enfermo|muy car*|sin lugar|no hay lugar|tomo licencia|ultimo dia|no vuelve|se va|nos deja|nos dejo|se nos fue|no vuelve mas|se acabo|se acabaron|acabo|se termino|se terminaron|se agoto|se agotaron|quebro|quebraron|cerro|cerro sus puertas|\
         fallo|nos fallo|caduco|expiro|vencio|salio de|dejo el|dejo la|dejo|deje|dejamos|dejaron|se jubilo|jubilo|renuncio|\
         fue despedid*|se fue|se marcho|clausuraron|fue vendid*|ya no|nada de|basta de|\
         me canse de|nos cansamos de|abandone|abandono|pare de|paramos de|desisti|desistio|desistimos|anularon|anulo|anule|\
         se anula|se anulo|se cancela|se cancelo|cancelo|cancelaron|cancele|cancelamos|cerre la cuenta|vendi|\
         vendimos|vendio|devolvi|devolvimos|se estropeo|se rompio|se averio|no funciona|no gusto|rompimos|rescindimos|\
         rescindio|rescindi|despedimos|quite|quitamos|quitaron|saltamos|borren|borra|olvida|olviden|olvidate|murio|\
         fallecio|no funciono|salio mal|se bajo|se bajaron|baja definitiva|esta fuera|se mudo|mudaron|descontinuaron|\
         fue descontinuad*|no se queda mas|no va mas|no viene mas|no se hace mas|no mas|sin mas|termine con|corte con|\
         me borre|nos borramos",
    ),
    (
        Sign::Stead,
        "en su lugar|en lugar de el|en lugar de ella|se hizo cargo|se hace cargo|tomo su lugar|toma su lugar|asumio|asume|lo reemplaza|la reemplaza|lo reemplazo|la reemplazo",
    ),
    (
        Sign::Begin,
        "estamos en|estoy en|me suscribi|prefiero|empece|empezo|empezamos|empezaron|empieza|comence|quiero|queremos|me apunte|se apunto|nos apuntamos|me inscribi|\
         se inscribio|inscribi|me pusieron|nos pusieron|me pase|nos pasamos|se paso|me quede|me quede con|nos quedamos con|\
         se queda con|tome|tomamos|tomo|entra|entro|entraron|contrate|contratamos|hago|hace|hacemos|haremos|uso|usamos|\
         usen|usa|usar|usaremos|lanzamos|vamos con|voy con|voy a|firme con|firmamos con|nos atiende|atiende|te va a atender|\
         va a atender|lo hace|la hace|maneja|conduce|estrenan|estrenamos|pinta de|pinten de|va de|tengo|tenemos|\
         compramos|le compramos|alquilamos|reserve|reservamos|vayan|vaya|venga|vengan|come en|come|toma|asumio|asume|\
         elegi|elegimos|escogi|probamos|vamos|voy",
    ),
    (
        Sign::Status,
        "autorizo|otorgo|firmo|se bajo|recibido|recibida|zarpo|atraco|partio|instalado|instalada|revocado|revocada|desistio|ingresado|ingresada|de alta|libero|liberaron|arreglaron|arreglo|termino|terminaron|en mantenimiento|en transito|abierto|abierta|cerro|cerrados|aprobo|descartado|descartada|averiado|averiada|contratado|contratada|aprobado|aprobada|aprobados|aprobadas|aprobo|aprobaron|reprobado|rechazado|rechazada|rechazo|\
         rechazaron|negado|negada|nego|negaron|denegado|denegada|denego|denegaron|cancelado|cancelada|\
         cancelaron|se cancelo|cerrado|cerrada|cerraron|cubierto|cubierta|cubierta la|resuelto|resuelta|\
         resolvio|resolvieron|completado|completada|completo|concluido|concluida|finalizado|finalizada|\
         finalizo|terminado|terminada|listo|lista|listos|entregado|entregada|entregaron|enviado|enviada|\
         despachado|despachada|llego|llegaron|devuelto|devuelta|reembolsado|reembolsada|pagado|pagada|\
         saldado|saldada|firmado|firmada|firmaron|vencido|vencida|vencio|caduco|caducado|lanzado|lanzada|\
         en linea|atrasado|atrasada|retrasado|retrasada|pospuesto|pospuesta|suspendido|suspendida|pausado|\
         pausada|bloqueado|bloqueada|liberado|liberada|arreglado|arreglada|reparado|reparada|vendido|\
         vendida|agotado|agotada|se agoto|disponible|aceptado|aceptada|aceptaron|acepto|autorizado|\
         autorizada|autorizaron|publicado|publicada|reabierto|reabierta|activado|activada|desactivado|\
         desactivada|congelado|congelada|en curso|en revision|en produccion|en espera|perdido|ganado|\
         renovado|renovada|renovaron|facturado|lleno|llena|vetado|vetada|vetaron|ocupado|ocupada|adjudicado|\
         adjudicada|quedo en pausa|paralizo|paralizaron|paralizado|paralizada|clausuro|clausuraron|\
         clausurado|clausurada|cubrio|se cubrio|concedido|concedida|concedio|concedieron|otorgado|otorgada|\
         otorgaron|expedido|emitido|emitida|en camino|en reparto|quedo suspendido|quedo suspendida",
    ),
    (
        Sign::Back,
        "volver a|volver al|volvamos a|volvamos al|volvemos a|volvemos al|volvimos a|volvimos al|vuelve a|\
         vuelve al|vuelvan a|vuelvan al|vuelvo a|vuelvo al|volvio a|volvio al|regresar a|regresar al|\
         regresamos a|regresamos al|regresemos a|retomar|retomamos|revertir a|revierte a|deshacer|deshaz|\
         volve a|volve al",
    ),
    (
        Sign::Choose,
        "nos fuimos a|nos fuimos con|me fui a|me fui con|estamos con|compramos a|vamos con|nos quedamos con|\
         me quedo con|nos decidimos por|decidimos|decidieron|decidi|decidio|decidimos ir con|elegimos|elegi|\
         eligieron|eligio|escogimos|escogi|optamos por|opte por|optaron por|cerramos con|acordamos|\
         acordaron|quedamos en|concretamos|pactamos|cerre con|firmamos con|firme con|contratamos|contrate|\
         contrataron|alquilamos|alquile|compramos|compre|reservamos|reserve|al final|finalmente|gano|\
         oficial|oficialmente|definido|definimos|quedo definido|va a ser|sera|terminamos|acabamos|pago con|\
         voy a pagar|voy con|me llevo|iremos con",
    ),
    (
        Sign::Now,
        "ahora|a partir de|a partir del|de ahora en adelante|desde ahora|de aqui en adelante|\
         de hoy en adelante|en adelante|desde|hoy|hoy en dia|actualmente|ya estoy|ya esta|nuevo|nueva|\
         nuevos|nuevas|pasa a ser|definitivamente|a partir|vigente",
    ),
    (
        Sign::Direct,
        "traduce|traduzca|traduzcan|traducir|imprime|imprima|impriman|pinta|pinte|pinten|envuelve|manda|mande|manden|mandalo|mandala|mandenlo|mandenla|mandenmelo|mandar|envia|envie|envien|envialo|\
         enviala|envienlo|envienla|enviar|entrega|entregue|entreguen|entreguenlo|entregar|usa|use|usen|usar|\
         utiliza|utilicen|llama|llame|llamen|llamame|llamenme|habla con|hable con|hablen con|responde|\
         responda|respondan|contesta|contesten|escribe|escriban|escribanle|escribele|escribile|escribi|paga|\
         pague|paguen|cobra|cobren|anota|anoten|apunta|apunten|agenda|agenden|agendar|guarda|guarden|pon|\
         ponga|pongan|poner|marca|marquen|haz|haga|hagan|hacer|deja|dejen|lleva|lleven|trae|traigan|\
         contacta|contacten|busca|trata con|traten con|considera|consideren|registra|registren|factura|\
         facturen",
    ),
    (
        Sign::Correct,
        "cambio de idea|cambio de opinion|cambiaron de idea|cambiaron de opinion|en realidad|de hecho|la verdad|correccion|corrijo|corrigiendo|corrige|corrijan|rectifico|\
         rectificacion|errata|fe de erratas|error mio|me equivoque|me confundi|escribi mal|puse mal|\
         anote mal|dije mal|mande mal|perdon|disculpa|disculpen|disculpe|ups|lo correcto es|el correcto es|\
         la correcta es|quise decir|quiero decir|digo|o mejor|mejor|mejor dicho|mas bien|cambio de planes|\
         cambiaron los planes|cambie de idea|cambiamos de idea|cambie de opinion|pensandolo bien|\
         pensandolo mejor|olvida lo que|olviden lo que|olvida eso|olvidalo|ignora|ignoren|ignore|\
         haz caso omiso|espera|esperen|no espera|actualizando|actualizacion|aviso|en cambio|en su lugar|\
         esta mal|estaba mal|debe decir|tenia que ser|nada de eso|al final|resulta que|dejalo|borra eso|\
         no no|me exprese mal",
    ),
    (
        Sign::Make,
        "haz|hace|pon|pone|ponle|dejalo en|dejala en|mejor|cambia a|cambialo a|cambiala a|cambie a|\
         cambien a|cambien eso a|que sean|que sea",
    ),
    (
        Sign::Is,
        "da|dan|pesa|pesan|mide|miden|suma|marca|tiene|tienen|esta saliendo a|saliendo a|costando|sale a|es|son|esta|estan|sera|seran|va a ser|van a ser|somos|seremos|queda|quedo|cuesta|sale|vale|empieza|\
         comienza|termina|vence|vivo|vive|vivo en|viviendo|estoy viviendo|cae|llega|parte|abre|cierra|\
         atiende|funciona|pasa a ser|pasan a ser|debe ser|tiene que ser|ocurre|se llama|llama|pagamos|corre",
    ),
    (Sign::To, "a nombre de|a|al|para|pa|hasta|en|por|con|de|del|es|son"),
    (Sign::From, "de|del|desde|era|eran"),
    (Sign::By, "un|en mas"),
    (Sign::And, "y|e|pero|entonces|porque|pues|que|cuando|donde|asi que|aunque"),
    (
        Sign::Stop,
        "el|la|los|las|lo|un|una|unos|unas|de|del|en|para|con|que|y|e|es|son|mas|por|al|yo|tu|vos|usted|\
         ustedes|ella|ellos|ellas|nosotros|mi|mis|su|sus|nuestro|nuestra|nuestros|nuestras|fue|fueron|ser|\
         va|van|voy|vamos|esta|estan|estoy|tiene|tener|ya|tambien|solo|muy|eso|esto|ese|esa|este|esos|esas|\
         aquel|ahi|aqui|alli|alla|hasta|se|me|te|le|les|nos|no|si|ok|hola|buenas|buenos|dias|tardes|noches|\
         gracias|por favor|porfa|favor|puede|pueden|puedes|senorita|senor|chicos|gente|amigos|equipo|jaja|\
         hoy|ayer|manana|ahora|entonces|pero|pues|porque|cuando|como|cual|sobre|sin|lamentablemente|quiero|\
         necesito|aviso|quedo|queda|hace|cada|lugar|vez|era|eran|todo|toda|todos|todas|nada|final|adelante|\
         bien|mal|asi",
    ),
];
