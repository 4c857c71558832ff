use super::*;
use proptest::prelude::*;

fn value(text: &str) -> Result<f64, QuantityError> {
    let mut scope = SymbolTable::default();
    scope.add("p", 0.8);
    scope.add("in situ", 1.0);
    scope.add("low", 0.0);
    scope.add("low", 2.0);
    Expression::parse(text, &["t", "x", "a", "f"], &scope)?.evaluate([2.0, 3.0, 0.0, 1.0])
}

#[test]
fn operators_follow_mathematical_precedence() {
    for (text, expected) in [
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("2^-1", 0.5),
        ("1/2", 0.5),
        ("7 - 2 - 1", 4.0),
        ("12 / 2 / 3", 2.0),
        ("2 + 3 * 4", 14.0),
        ("(2 + 3) * 4", 20.0),
        ("-3 % 2 ", 1.0),
        ("(0 - 1) % 10", 9.0),
        ("7 % 3", 1.0),
        ("1.5e1 + .5", 15.5),
        ("not 0 + 1", 0.0),
        ("not x == 4", 1.0),
        ("1 < 2 and 2 < 1 or 1", 1.0),
        ("1 or 0 and 0", 1.0),
        ("if(x == 0, 1 / 0, 1 / x)", 1.0 / 3.0),
        ("x > 5 and 1 / 0", 0.0),
        ("x < 5 or 1 / 0", 1.0),
        ("min(3, 1, 2) + max(3, 1, 2)", 4.0),
        ("floor(-0.5) + ceil(0.5) + round(0.5)", 1.0),
        ("abs(-3) + sqrt(16)", 7.0),
        ("ln(exp(2)) + log(exp(2)) + log(8, 2)", 7.0),
        ("poisson(x, 2)", 8.0 / 6.0 * (-2.0_f64).exp()),
        ("poisson_tail(2, p)", 1.0 - 1.8 * (-0.8_f64).exp()),
        ("poisson(0, 0) + poisson_tail(1, 0)", 1.0),
        ("'in situ' + p", 1.8),
        ("true + false", 1.0),
        ("- - 3", 3.0),
        ("2 * -3", -6.0),
    ] {
        let got = value(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        assert!((got - expected).abs() < 1e-12, "{text} = {got}");
    }
}

#[test]
fn errors_point_at_their_place() {
    // The expression, the message, and the part that it points at.
    const CASES: &str = r#"
1 / (x - 3) | division by zero: 1 / 0 | 1 / (x - 3)
2 + ln(0) | ln(0) has no finite value | ln(0)
sqrt(0 - 1) | sqrt(-1) has no finite value | sqrt(0 - 1)
1e308 * 10 | the result of 1e308 and 10 is too large | 1e308 * 10
q + 1 | unknown name `q`; declare it in `parameters` | q
mim(1) | there is no function `mim` (did you mean `min`?) | mim
x = 1 | write `==` instead | =
x ** 2 | write `^` instead | **
0 < x < 2 | comparisons do not chain; join two of them with `and` | <
(1 + 2 | this bracket is not closed | (
1 + 2) | this does not belong here | )
2 x | an operator is missing before this | x
poisson(1) | `poisson` takes 2 arguments, got 1 | poisson(1)
1 - poisson(f, 0 - x) | poisson(1, -3): the mean must be a number from 0 to 1e9 | poisson(f, 0 - x)
poisson_tail(x / 2, 1) | poisson_tail(1.5, 1): the number of events must be a whole number from 0 to 1e9 | poisson_tail(x / 2, 1)
if(1, 2) | `if` takes 3 arguments, got 2 | if(1, 2)
| the expression ends too early |
1 + ü | this character means nothing in an expression | ü
low | `low` is ambiguous: it stands for both 0 and 2 | low
1.2.3 | this is not a number | 1.2.3
"#;
    for case in CASES.trim_matches('\n').lines() {
        let parts: Vec<&str> = case.split('|').map(str::trim).collect();
        let [text, message, place] = parts[..] else {
            panic!("{case}");
        };
        let fault = value(text).unwrap_err();
        assert_eq!(fault.message, message, "{text}");
        let span = fault.span.unwrap();
        assert_eq!(&text[span], place, "{text}");
    }
}

#[test]
fn limits_nesting_and_length() {
    let deep = format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000));
    for (text, limit) in [
        (deep, "200 deep"),
        ("-".repeat(100_000), "200 deep"),
        ("2^".repeat(100_000), "200 deep"),
        (vec!["1"; 100_000].join("+"), "2000 operators"),
    ] {
        assert!(value(&text).unwrap_err().message.contains(limit));
    }
    assert_eq!(value(&vec!["1"; 2000].join("+")).unwrap(), 2000.0);
}

proptest! {
    #[test]
    fn parses_or_rejects_any_text(text in "[-+*/^%()<>=!,.'0-9a-z ü]{0,40}") {
        if let Ok(value) = value(&text) {
            prop_assert!(value.is_finite());
        }
    }
}
