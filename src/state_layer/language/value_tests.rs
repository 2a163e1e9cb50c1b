//! Typed values, form by form.

use super::ValueKind::{Code, Contact, Date, Duration, Money, Number, Percent, Place, Time, Word};
use super::*;

fn read(text: &str) -> Vec<(ValueKind, String)> {
    values(text).into_iter().map(|value| (value.kind, value.canonical)).collect()
}

#[test]
fn one_value_each() {
    for (text, kind, form) in [
        ("R$ 1.500,00", Money, "R$1500"),
        ("R$1.500", Money, "R$1500"),
        ("1.500 €", Money, "€1500"),
        ("$1,500", Money, "$1500"),
        ("$1.55", Money, "$1.55"),
        ("$1.5k", Money, "$1500"),
        ("$200K", Money, "$200000"),
        ("US$ 2 milhões", Money, "$2000000"),
        ("2 mil reais", Money, "R$2000"),
        ("150 dólares", Money, "$150"),
        ("R$ 8,50/kg", Money, "R$8.5"),
        ("15%", Percent, "15"),
        ("12,5 por cento", Percent, "12.5"),
        ("2025-03-12", Date, "2025-03-12"),
        ("12/03", Date, "--03-12"),
        ("12 de março", Date, "--03-12"),
        ("March 12th", Date, "--03-12"),
        ("12 March 2026", Date, "2026-03-12"),
        ("5 de mayo", Date, "--05-05"),
        ("Saturday July 20", Date, "--07-20"),
        ("sábado 20/07", Date, "--07-20"),
        ("quarta-feira", Date, "weekday-3"),
        ("miércoles", Date, "weekday-3"),
        ("Wed", Date, "weekday-3"),
        ("Tuesdays", Date, "weekday-2"),
        ("amanhã", Date, "day+1"),
        ("end of month", Date, "month-end"),
        ("Q3", Date, "Q3"),
        ("dia 5", Date, "day-5"),
        ("the 5th", Date, "day-5"),
        ("15h", Time, "15:00"),
        ("15h30", Time, "15:30"),
        ("3pm", Time, "15:00"),
        ("3 PM", Time, "15:00"),
        ("14:00", Time, "14:00"),
        ("às 15", Time, "15:00"),
        ("a las 3 de la tarde", Time, "15:00"),
        ("a las 3 y media", Time, "03:30"),
        ("meio-dia", Time, "12:00"),
        ("noon", Time, "12:00"),
        ("12am", Time, "00:00"),
        ("0h40", Time, "00:40"),
        ("30 days", Duration, "30d"),
        ("2 semanas", Duration, "14d"),
        ("4 hours", Duration, "14400s"),
        ("5 dias úteis", Duration, "5dw"),
    ] {
        assert_eq!(read(text), [(kind, form.to_owned())], "{text}");
    }
}

#[test]
fn one_value_that_counts_or_names() {
    for (text, kind, form) in [
        ("55", Number, "55"),
        ("18,400", Number, "18400"),
        ("150k", Number, "150000"),
        ("20 mg", Number, "20 mg"),
        ("600 Mbps", Number, "600 mbps"),
        ("12pt", Number, "12 pt"),
        ("6x", Number, "6 x"),
        ("três", Number, "3"),
        ("PO-4521", Code, "po4521"),
        ("UA 231", Code, "ua231"),
        ("456 Oak Ave", Place, "456 oak ave"),
        ("Av. Sete, 900", Place, "av sete 900"),
        ("Rua das Flores, 12", Place, "rua das flores 12"),
        ("Room 118", Place, "room 118"),
        ("sala 4", Place, "room 4"),
        ("ana@example.com", Contact, "ana@example.com"),
        ("+55 11 5550-0123", Contact, "551155500123"),
        ("555-0123", Contact, "5550123"),
        ("XL", Word, "xl"),
    ] {
        assert_eq!(read(text), [(kind, form.to_owned())], "{text}");
    }
}

#[test]
fn values_in_sentences() {
    for (text, expected) in [
        ("The deadline is Thursday, not Friday.", vec![(Date, "weekday-4"), (Date, "weekday-5")]),
        ("a consulta foi remarcada pra quinta-feira as 16h30", vec![(Date, "weekday-4"), (Time, "16:30")]),
        ("trial at $150 per unit (was $100)", vec![(Money, "$150"), (Money, "$100")]),
        ("Bump the chairs up to 55.", vec![(Number, "55")]),
        ("we may march on", vec![]),
        ("segunda via do boleto", vec![]),
        ("obrigada, viu!", vec![]),
        ("deploy 2 AM - 4 AM", vec![(Time, "02:00"), (Time, "04:00")]),
    ] {
        let expected: Vec<(ValueKind, String)> =
            expected.into_iter().map(|(kind, form)| (kind, form.to_owned())).collect();
        assert_eq!(read(text), expected, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn invariant_spans_are_in_order_and_hold_what_was_written(text in "([A-Za-zãé]{0,6}|[0-9]{1,4}|[ $€%:/.,@h+()-]|R\\$ |às |de março|Room |Av\\. |semana){0,30}") {
        let mut end = 0;
        for value in values(&text) {
            proptest::prop_assert!(value.span.start >= end && value.span.end > value.span.start);
            proptest::prop_assert_eq!(text.get(value.span.clone()), Some(value.text.as_str()));
            end = value.span.end;
        }
    }
}
