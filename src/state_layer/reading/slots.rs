//! Words for the same slot in business talk: what a Brazilian key calls `endereco` an English speaker calls an address.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::stem;
use crate::state_layer::language::value::ValueKind;

/// Slots and their words in three languages, in plain letters. A word may stand for several slots.
const SLOTS: &[(&str, &str)] = &[
    (
        "address",
        "address endereco direccion domicilio location localizacao ubicacion destination destino logradouro rua street calle avenida avenue lives live mora moro vivo vive moved",
    ),
    (
        "home",
        "home city cidade ciudad town municipio neighborhood neighbourhood bairro barrio residence residencia casa apartment lives live living moro mora \
        morando vivo vive viviendo moving relocated mudei mudamos hometown pais country based residir",
    ),
    (
        "delivery",
        "delivery deliver delivers delivering delivered entrega entregar entregue entreguem shipping ship shipment ships envio enviar envie envia envien \
        envialo envienlo frete flete send sends package pacote paquete mandar manda mande mandem manden mandalo mandenlo mandala encomenda despacho remessa dropoff courier parcel goes",
    ),
    ("deadline", "deadline prazo plazo due vencimento vencimiento limite vence fecha-limite entrega cutoff"),
    (
        "meeting",
        "meeting reuniao reunion call ligacao llamada appointment consulta cita compromisso encontro encuentro sync standup kickoff agendamento turno \
        visita visit interview entrevista session sessao sesion videollamada videochamada horario",
    ),
    (
        "price",
        "price preco precio cost custo costo valor tarifa rate fee quote cotacao cotizacion cotizacao pricing taxa charge cobro mensalidade mensualidad cuota tuition \
        fare monto montante total amount sale sai costs custa cuesta vale costando rent aluguel alquiler renta quilo kilo",
    ),
    ("order", "order pedido orden encomenda compra purchase"),
    (
        "phone",
        "phone telefone telefono celular cellphone mobile movil number numero whatsapp zap cel celu contato fone contacto",
    ),
    ("email", "email e-mail mail correo inbox"),
    (
        "payment",
        "payment pagamento pago pay paying paid pagar paga pague pagamos pagaremos pagando cobranca billing forma boleto pix cartao tarjeta card efectivo dinheiro cash \
        transferencia transfer invoice fatura factura installment parcela parcelas cuotas",
    ),
    (
        "quantity",
        "quantity limit limite cupo capacity capacidade capacidad aforo lotacao qty quantidade qtd cantidad count units unidades amount numero number headcount many volume pieces pecas piezas",
    ),
    (
        "people",
        "guests convidados invitados people pessoas personas attendees participantes asistentes headcount seats lugares booking reserva table mesa us party pax",
    ),
    ("size", "size tamanho talla talle medida numero wear wears fit"),
    ("colour", "color colour cor paint tinta pintura pintar paint"),
    ("room", "room sala salon salao venue local lugar place hall espaco espacio auditorio office escritorio sede"),
    (
        "venue",
        "venue local lugar espaco espacio place hall salon salao gala wedding festa fiesta party evento event casamento boda ceremony cerimonia will-be-at",
    ),
    ("flight", "flight voo vuelo plane aviao avion departure partida salida embarque rebooked fly flying"),
    ("bus", "bus onibus autobus micro ticket passagem pasaje boleto departure salida saida train trem tren"),
    ("contract", "contract contrato agreement acordo acuerdo deal convenio"),
    ("budget", "budget orcamento presupuesto verba funding cap gasto spend"),
    ("discount", "discount off desconto descuento rebate promo"),
    ("date", "date data fecha day dia when cuando quando"),
    ("time", "time hora horario hour schedule cronograma agenda turno shift hrs window janela ventana"),
    ("name", "name nome nombre called chamado llamado chama llama title titulo"),
    ("status", "status estado situacao situacion stage etapa fase progress andamento"),
    (
        "owner",
        "owner responsavel responsable lead leader lider head manager gerente encargado encargada titular in-charge charge cargo coordinator coordenador coordenadora coordinador \
        coordinadora supervisor supervisora chefe jefe jefa boss pm dono dueno foreman capataz captain capitao capitan rep representante account",
    ),
    (
        "vendor",
        "vendor supplier fornecedor proveedor provider prestador company empresa agency agencia contractor contract contrato transportadora carrier gestoria contador accountant \
        contabilidade contador-a asesor signing signed distribuidor distribuidora",
    ),
    ("contact", "contact contato contacto talk reach person pessoa emergencia emergency"),
    ("plan", "plan plano subscription assinatura suscripcion abono package pacote tier membership"),
    (
        "approach",
        "approach plan strategy estrategia abordagem enfoque implementation implementacao implementacion method metodo rollout deployment",
    ),
    ("design", "design layout theme tema desenho diseno look ui"),
    (
        "choice",
        "selected selecionado seleccionado chosen escolhido elegido choice escolha eleccion selection decision decisao framework tool ferramenta herramienta stack",
    ),
    ("policy", "policy politica decision decisao regra rule norma regla reglamento regulamento"),
    ("priority", "priority prioridade prioridad focus foco enfoque"),
    (
        "language",
        "language idioma lingua lengua reply responder english ingles spanish espanhol espanol portuguese portugues french frances german alemao aleman italian italiano \
        responda respond answer",
    ),
    ("timezone", "timezone fuso huso zone zona"),
    (
        "diet",
        "diet dieta vegetarian vegetariano vegetariana vegan vegano meat carne eating comendo comiendo food comida alimentacao alimentacion eat como",
    ),
    ("medication", "medication medicine medicamento medicacao medicacion remedio dose dosage dosis dosagem drug"),
    ("class", "class aula clase lesson curso course taller oficina"),
    (
        "hotel",
        "hotel pousada hospedagem hospedaje lodging accommodation alojamiento acomodacao hostel stay booking booked inn",
    ),
    (
        "car",
        "car carro auto coche veiculo vehicle vehiculo rental locadora alugamos aluguel rented alquilamos alquiler rentadora",
    ),
    ("bank", "bank banco"),
    ("loan", "loan credito prestamo emprestimo financiamento financiacion mortgage hipoteca"),
    ("refund", "refund reembolso devolucao devolucion return estorno"),
    ("ticket", "ticket chamado incidente issue incident caso tiquete"),
    ("drink", "drink bebida beverage suco jugo juice refrigerante gaseosa soda cafe coffee"),
    ("dish", "dish prato plato side acompanhamento acompanamiento menu cardapio sobremesa postre dessert"),
    ("flavor", "flavor flavour sabor cake bolo torta tarta pastel"),
    ("backup", "backup copia respaldo seguridad seguranca"),
    ("deploy", "deploy deployment implantacao despliegue release lancamento lanzamiento launch publicacion golive"),
    ("remote", "remote remoto home office teletrabajo teletrabalho wfh hibrido hybrid"),
    ("sla", "sla response resposta respuesta atendimento atencion"),
    (
        "staff",
        "staff team equipe equipo time pessoal personal hiring contratacao contratacion hire engineers vagas headcount",
    ),
    ("dock", "dock doca muelle loading carga embarque descarga unloading"),
    ("expiry", "expiry expiration validade vencimiento caducidad expires"),
    ("interest", "interest juros interes intereses"),
    ("warranty", "warranty garantia guarantee"),
    ("salary", "salary salario sueldo wage pay ordenado"),
    ("address_of_mail", "email correo mail"),
    ("pet", "pet dog cachorro perro cat gato mascota"),
    ("school", "school escola escuela colegio college faculdade universidade universidad"),
    ("doctor", "doctor medico medica doctora dentist dentista physician terapeuta therapist"),
    ("insurance", "insurance seguro convenio plano-de-saude"),
    ("stock", "stock estoque inventory inventario existencias"),
    ("opening", "opening abertura apertura opens abre start starts inicio comienzo comeca empieza entrada checkin"),
    ("closing", "closing fechamento cierre closes fecha cierra end ends fim fin termina checkout"),
    ("gift", "gift presente regalo"),
    ("password", "password senha contrasena clave"),
    ("user", "user username usuario login"),
    ("trip", "trip viagem viaje travel tour excursion excursao passeio paseo"),
    ("server", "server servidor host"),
    ("give_back", "return returns devolver devolve devolva devolvo devolverlo devolucion devolucao devuelvo"),
    (
        "arrival",
        "arrival arrive arrives arriving eta llegada llega llegan llegar chegada chega chegam chegar lands aterriza previsao",
    ),
    ("weight", "weight peso weigh weighs pesa pesado load carga"),
    ("temperature", "temperature temperatura temp degrees graus grados"),
    ("code", "code codigo id ref protocolo placa plate matricula"),
    ("remittance", "pix alias handle chave clave account conta cuenta iban cbu"),
];

/// Whether a slot is no more than what any value of a kind has: a day is a date, so many reais are a price.
pub(super) fn is_implied(slots: &[&str], kind: ValueKind, form: &str) -> bool {
    let by_kind: &[&str] = match kind {
        ValueKind::Date => &["date", "deadline", "expiry", "time", "meeting", "arrival"],
        ValueKind::Time => &["time", "date", "opening", "closing", "meeting", "arrival"],
        ValueKind::Money => &["price", "budget", "payment", "salary"],
        ValueKind::Percent => &["discount", "interest", "price"],
        ValueKind::Duration => &["deadline", "time", "date"],
        ValueKind::Number => &["quantity", "people", "weight"],
        ValueKind::Code => &["code", "quantity"],
        ValueKind::Place => &["room", "venue", "address"],
        ValueKind::Contact => &["phone", "email", "contact"],
        ValueKind::Word => &[],
    };
    let measure = match form.split_once(' ').map_or("", |(_, unit)| unit) {
        "kg" | "g" | "lb" | "lbs" | "t" | "oz" => "weight",
        "°c" | "°f" | "ºc" | "c" => "temperature",
        _ => "",
    };
    slots.iter().any(|slot| by_kind.contains(slot) || *slot == measure)
}

static BY_STEM: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut found: HashMap<String, Vec<&'static str>> = HashMap::new();
    for (slot, words) in SLOTS {
        for word in words.split_whitespace() {
            let slots = found.entry(stem(word)).or_default();
            if !slots.contains(slot) {
                slots.push(slot);
            }
        }
    }
    found
});

static BY_SLOT: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    for (stem, slots) in BY_STEM.iter() {
        for slot in slots {
            found.entry(*slot).or_default().push(stem);
        }
    }
    found
});

/// The stems that name a slot.
pub(super) fn stems_of(slot: &str) -> &'static [&'static str] {
    BY_SLOT.get(slot).map_or(&[], Vec::as_slice)
}

/// The slots that a stem names.
pub(super) fn of(stem: &str) -> &'static [&'static str] {
    BY_STEM.get(stem).map_or(&[], Vec::as_slice)
}

/// Key words that name a type or nothing at all: they tell no fact from another.
const GENERIC: &str = "fact item value valor current atual actual new novo nuevo info data date fecha time hora horario number numero num name nome nombre \
    total status estado type tipo id key v1 v2 v3 v4 note nota detail detalhe detalle of de da do del the per max min selected decision top main \
    shared instruction default preferred preferido preferida official approved night noche noite morning team final";

static GENERIC_STEMS: LazyLock<std::collections::HashSet<String>> =
    LazyLock::new(|| GENERIC.split_whitespace().map(stem).collect());

/// Whether a key's stem names only a type.
pub(super) fn is_generic(stem: &str) -> bool {
    stem.bytes().all(|byte| byte.is_ascii_digit()) || GENERIC_STEMS.contains(stem)
}
