use emab::learners::LearnerConfig;
use emab_logs::plan::{PlanError, Settings, plan};
use emab_problem::ProblemFile;

use crate::simulate::log_of;

#[test]
fn certificates_fall_with_the_cases() {
    let file = ProblemFile::find("feedback-gap").unwrap();
    let log = log_of(&file, "random", 50, 1);
    let config = LearnerConfig::parse("feedbal:width=sound", file.learning()).unwrap();
    let settings = Settings {
        cases: 2000,
        below: Some(0.5),
        draws: 20,
        seed: 1,
        stated: Default::default(),
    };
    let it = plan(&log, &config, &settings, |_| true).unwrap().unwrap();
    let curve: Vec<f64> = it
        .curve
        .iter()
        .map(|point| point.certificate.median)
        .collect();
    assert_eq!(
        (it.curve[0].cases, it.curve.last().unwrap().cases),
        (0, 2000)
    );
    assert!(curve.windows(2).all(|two| two[1] <= two[0]));
    assert!(it.reached > 0 && it.now.unwrap() > 0.5);
    let (lower, median) = (it.cases.lower.unwrap(), it.cases.median.unwrap());
    assert!(0 < lower && lower <= median && median <= 2000);
    // The same again, and an interrupted one.
    let again = plan(&log, &config, &settings, |_| true).unwrap().unwrap();
    assert_eq!(it.cases, again.cases);
    assert!(plan(&log, &config, &settings, |_| false).unwrap().is_none());
    let paper = LearnerConfig::parse("feedbal", file.learning()).unwrap();
    let error = plan(&log, &paper, &settings, |_| true).unwrap_err();
    assert!(matches!(error, PlanError::Withheld(_)));
}
