use super::*;
use crate::model::test_models::{Family, generator, random_model, random_tree};
use crate::tree::Tree;

#[test]
fn formats_are_known_by_their_names() {
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
    assert!("pdf".parse::<Format>().unwrap_err().to_string().contains("graphml"));
}

#[test]
fn dot_has_each_node_and_edge_once_and_quotes_end_where_they_should() {
    for seed in 0..50 {
        let tree = random_tree(&mut generator(seed), 30);
        let text = to_dot(&tree);
        assert_eq!(text.lines().filter(|line| line.contains("shape=")).count(), tree.n_nodes());
        assert_eq!(text.lines().filter(|line| line.starts_with("  n") && line.contains(" -- ")).count(), tree.n_edges());
        for line in text.lines() {
            let mut quotes = 0;
            let mut escaped = false;
            for c in line.chars() {
                assert!(!c.is_control());
                quotes += usize::from(c == '"' && !escaped);
                escaped = c == '\\' && !escaped;
            }
            assert!(quotes == 0 || quotes == 2, "{line}");
        }
    }
}

#[test]
fn graphml_holds_only_what_xml_can_hold() {
    for (seed, family) in (0..50).zip([Family::Discrete, Family::Mixed, Family::Gaussian].into_iter().cycle()) {
        let model = random_model(seed, family, 30);
        let text = to_graphml(&model);
        assert_eq!(text.matches("<node ").count(), 30);
        assert_eq!(text.matches("<edge ").count(), model.tree().n_edges());
        assert_eq!(text.matches("</data>").count(), text.matches("<data ").count());
        assert!(text.chars().all(|c| c == '\n' || (!('\u{0}'..' ').contains(&c) && c != '\u{ffff}')));
        assert!(!text.contains("<script>"));
    }
}

#[test]
fn exports_are_read_back_by_their_first_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let model = random_model(9, Family::Discrete, 12);
    for (format, name) in [(Format::Json, "m.json.gz"), (Format::Bif, "m.bif"), (Format::XmlBif, "m.xml.zst"), (Format::Bif, "x")]
    {
        let path = dir.path().join(name);
        export(&model, format, &path).unwrap();
        let back = read_model(&path, &ReadModelOptions::default()).unwrap().into_latent_tree().unwrap();
        assert_eq!(back.tree().nodes(), model.tree().nodes());
    }
    let tree = model.tree();
    assert!(render(tree, Format::Bif).unwrap_err().to_string().contains("without tables"));
    assert_eq!(render(&ModelFile::LatentTree(model.clone()), Format::Json).unwrap(), model.to_json_string());
}

#[test]
fn support_is_shown_in_every_format_that_shows_edges() {
    let text = "((a:0.5[&support=0.75],b:0.25)h2[&hidden]:0.125[&support=0.5],c:1,d:2)h1[&hidden];";
    let tree = Tree::from_newick(text, &crate::tree::Observed::LeavesOnly).unwrap();
    assert!(render(&tree, Format::Newick).unwrap().contains("[&support=0.75]"));
    assert!(
        render(&tree, Format::Json).unwrap().contains("\"support\":0.75")
            || render(&tree, Format::Json).unwrap().contains("\"support\": 0.75")
    );
    assert!(render(&tree, Format::Dot).unwrap().contains("0.500 (75%)"));
    assert!(render(&tree, Format::GraphMl).unwrap().contains("<data key=\"support\">0.75</data>"));
    let shown = render(&tree, Format::Text).unwrap();
    assert!(shown.contains("a  0.5  75%") && shown.contains("(h2)  0.125  50%") && shown.contains("b  0.25\n"), "{shown}");
    assert_eq!(shown.lines().count(), tree.n_nodes());
    // A long chain is no problem for memory of the call stack.
    let mut chain = Tree::new();
    let nodes: Vec<_> = (0..2000).map(|ix| chain.add_observed(format!("x{ix}")).unwrap()).collect();
    let edges: Vec<_> = nodes.windows(2).map(|it| crate::tree::Edge::new(it[0], it[1])).collect();
    let chain = Tree::from_parts(chain.nodes().to_vec(), &edges).unwrap();
    assert_eq!(to_text(&chain).lines().count(), 2000);
}
