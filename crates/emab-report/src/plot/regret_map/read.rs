//! Reads the CSV of [`super::regret_map_csv`].

use emab_sim::results::StateRegret;

/// The pairs of all learners, in the order of the text; fails with the number and the fault of a line.
pub fn read_regret_map(text: &str) -> Result<Vec<(String, Vec<StateRegret>)>, String> {
    let mut learners: Vec<(String, Vec<StateRegret>)> = Vec::new();
    let mut rows = rows(text).into_iter().enumerate();
    rows.next(); // the header
    let mut before = None;
    for (i, fields) in rows {
        let (label, pair) = pair(&fields).map_err(|fault| format!("row {}: {fault}", i + 1))?;
        // The pairs of a learner are sorted, so that a smaller one begins the next learner, also with the same label.
        let place = (pair.t, pair.x);
        let same = learners.last().is_some_and(|(last, _)| *last == label);
        match learners.last_mut() {
            Some((_, pairs)) if same && before < Some(place) => pairs.push(pair),
            _ => learners.push((label, vec![pair])),
        }
        before = Some(place);
    }
    Ok(learners)
}

fn pair(fields: &[String]) -> Result<(String, StateRegret), String> {
    let [
        label,
        t,
        x,
        state,
        visits,
        regret,
        benchmark,
        learned,
        agree,
    ] = fields
    else {
        return Err(format!("it must have 9 fields, and has {}", fields.len()));
    };
    let whole = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a count"));
    let number = |text: &str| {
        text.parse()
            .map_err(|_| format!("`{text}` is not a number"))
    };
    let pair = StateRegret {
        t: whole(t)?,
        x: whole(x)?,
        state: state.clone(),
        visits: number(visits)?,
        regret: number(regret)?,
        benchmark: benchmark.clone(),
        learned: (!learned.is_empty()).then(|| learned.clone()),
        agree: match agree.as_str() {
            "" => 0.0,
            agree => number(agree)?,
        },
    };
    Ok((label.clone(), pair))
}

/// The fields of a CSV; fields in quotes may contain commas, line feeds and doubled quotes.
fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let (mut row, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    rows
}
