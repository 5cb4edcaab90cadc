//! What a viewer draws besides the shapes: masks and the like, which can refer to each other, and dashes.

use std::collections::{HashMap, HashSet};

use kurbo::{BezPath, PathEl, Point};
use roxmltree::{Node, NodeId};

use super::css::{SelectorKind, Token, tokens};
use super::paint::{VISIT_LIMIT, numbers};
use super::{Icon, Piece, XLINK, attribute, cascade, urls, value};

/// Elements that are drawn for each element that refers to them, into an image of their own. In a page, their names and those
/// of attributes have no case.
const LAYERS: &[&str] = &["mask", "clippath", "filter", "pattern", "marker"];

/// What an image costs, in nodes.
const IMAGE: u64 = 100;

/// What a step of a filter costs, and one that looks at many pixels for each.
const STEP: u64 = 20;
const WIDE_STEP: u64 = 10_000;

/// The radius from which a step is wide.
const WIDE: f64 = 50.0;

/// How often a filter may carry out one step: browsers carry it out for each step that uses its result.
const REPEATS: u64 = 1_000;

/// How many times the area of its element a filter may cover before its steps cost more. Shadows cover twice the area.
const AREA: f64 = 2.0;

/// Steps of a filter with a second input, and without any.
const TWO_INPUTS: &[&str] = &["feblend", "fecomposite", "fedisplacementmap"];
const NO_INPUTS: &[&str] = &["feflood", "feimage", "feturbulence"];

/// How many dashes cost as much as a node.
const DASHES: f64 = 5.0;

/// Elements that draw the element that their link names.
const LINKS: &[&str] = &["use", "pattern", "feimage"];

/// An element that is drawn with another one: how often, and what that costs besides its nodes.
type Edge = (NodeId, u64, u64);

/// A property, and the address in its value; `None` if the value is that of the parent, whatever that is.
type Reference<'b> = (&'b str, Option<&'b str>);

/// Sums over an element and all that is drawn with it.
type Sums = HashMap<NodeId, u64>;

/// Where references lead, and those of CSS.
struct Drawing<'b> {
    /// An id may be there more than once, and viewers do not agree which element counts.
    ids: HashMap<&'b str, Vec<Node<'b, 'b>>>,
    /// The references of each declaration that has any.
    declared: Vec<Vec<Reference<'b>>>,
    /// Places in `declared`: a declaration can have many references, and many selectors.
    sheets: HashMap<(SelectorKind, &'b str), Vec<usize>>,
    attributes: HashMap<NodeId, Vec<usize>>,
}

/// Whether drawing the icon takes a bounded time: nested references to layers can multiply as those of `use` do, and short
/// dashes divide a line into a million.
pub(super) fn is_bounded(icon: &Icon<'_>) -> bool {
    // Most icons have neither, and elements that are drawn once each.
    let is_special = |node| is_named(node, LAYERS) || is_named(node, LINKS) || dash_arrays(node).next().is_some();
    if !icon.elements().any(is_special) && css_dash_arrays(icon).next().is_none() {
        return true;
    }
    cost(icon).is_some_and(|cost| cost <= VISIT_LIMIT as u64)
}

/// As many bytes of a path cost about as much as a node, and icons are allowed some kilobytes.
const PATH_PIECE: usize = 256;

/// What drawing the icon costs, in nodes; `None` if that cannot be told, or is more than the limit.
fn cost(icon: &Icon<'_>) -> Option<u64> {
    let dashes = Dashes::of(icon);
    let has_markers = icon.elements().any(|node| is_named(node, &["marker"]));
    let mut declarations = icon.styles.iter().flat_map(|styled| &styled.css.declarations);
    let has_links = icon.elements().any(|node| is_named(node, LINKS));
    // The lines of a path in CSS are not counted.
    if (has_markers || has_links || dashes.is_some()) && declarations.any(|one| one.standard_property() == "d") {
        return None;
    }
    let (drawing, area, scale) = (Drawing::new(icon), area(icon), scale(icon));
    // What children inherit reaches what a `use` below the element draws, and each node is asked for that many times.
    let links = || {
        let mut left = VISIT_LIMIT as u64;
        let drawing = &drawing;
        move |node| drawing.links_from(node, &mut left)
    };
    let elements = sums(icon, links(), |_| 1)?;
    let vertices = if has_markers { sums(icon, links(), vertices)? } else { Sums::new() };
    let own_cost = |node| {
        let dashes = dashes.as_ref().map_or(0, |dashes| dashes.cost(node));
        let own = if is_named(node, &["filter"]) { filter_cost(node, area, scale) } else { 1 };
        let path: usize = ["d", "points"].iter().filter_map(|name| attribute(node, name)).map(str::len).sum();
        // Each letter is a path.
        let letters: usize = node.children().filter(Node::is_text).filter_map(|text| text.text()).map(str::len).sum();
        let letters = if has_glyphs(node) { letters } else { 0 };
        own.saturating_add(dashes).saturating_add((path / PATH_PIECE + letters) as u64)
    };
    let mut left = VISIT_LIMIT as u64;
    let all = sums(icon, |node| drawing.edges_from(node, (&elements, &vertices), &mut left), own_cost)?;
    all.get(&icon.root().id()).copied()
}

fn has_glyphs(node: Node<'_, '_>) -> bool {
    is_named(node, &["text", "tspan", "textpath", "a"])
}

/// Sums a number of each element over the elements that are drawn with it; `None` if an element is drawn with itself.
fn sums<'b>(
    icon: &'b Icon<'_>,
    mut edges_from: impl FnMut(Node<'b, 'b>) -> Option<Vec<Edge>>,
    own: impl Fn(Node<'b, 'b>) -> u64,
) -> Option<Sums> {
    let mut sums = Sums::new();
    let mut open: HashSet<NodeId> = HashSet::new();
    // An element is pushed again when what it leads to is known.
    let mut stack: Vec<(NodeId, Option<Vec<Edge>>)> = vec![(icon.root().id(), None)];
    while let Some((id, edges)) = stack.pop() {
        let Some(node) = icon.document.get_node(id) else { continue };
        if let Some(edges) = edges {
            let sum = |(target, times, more): &Edge| sums[target].saturating_add(*more).saturating_mul(*times);
            let sum = edges.iter().map(sum).fold(own(node), u64::saturating_add);
            open.remove(&id);
            sums.insert(id, sum);
            continue;
        }
        if sums.contains_key(&id) {
            continue;
        }
        // It is drawn while it is being drawn.
        if !open.insert(id) {
            return None;
        }
        let edges = edges_from(node)?;
        let targets: Vec<NodeId> = edges.iter().map(|(target, ..)| *target).collect();
        stack.push((id, Some(edges)));
        stack.extend(targets.into_iter().map(|target| (target, None)));
    }
    Some(sums)
}

impl<'b> Drawing<'b> {
    fn new(icon: &'b Icon<'_>) -> Self {
        let (ids, declared) = (HashMap::new(), Vec::new());
        let mut drawing = Self { ids, declared, sheets: HashMap::new(), attributes: HashMap::new() };
        for node in icon.elements() {
            if let Some(id) = attribute(node, "id") {
                drawing.ids.entry(id).or_default().push(node);
            }
        }
        for styled in &icon.styles {
            for declaration in &styled.css.declarations {
                let (property, value) = (declaration.standard_property(), &declaration.value);
                let references = drawing.references(property, value);
                if references.is_empty() {
                    continue;
                }
                let at = drawing.declared.len();
                drawing.declared.push(references);
                if !styled.is_sheet {
                    drawing.attributes.entry(styled.element).or_default().push(at);
                }
                for selector in declaration.selectors.iter() {
                    let key = (selector.kind, selector.name.as_str());
                    drawing.sheets.entry(key).or_default().push(at);
                }
            }
        }
        drawing
    }

    /// The references of a property that lead to layers.
    fn references<'v>(&self, property: &'v str, value: &'v [Piece]) -> Vec<Reference<'v>> {
        let is_known = |url: &&str| is_encoded(url) || self.layers(url).next().is_some();
        let mut references: Vec<_> = urls(value).filter(is_known).map(|url| (property, Some(url))).collect();
        // Also as the fallback of a variable.
        if draws_layer(property) && value.iter().any(|piece| matches!(piece, Piece::Word(word) if word == "inherit")) {
            references.push((property, None));
        }
        references
    }

    /// The children of an element, and what it draws by a link. Stops when nothing is left of what may be drawn.
    fn links_from(&self, node: Node<'b, 'b>, left: &mut u64) -> Option<Vec<Edge>> {
        let mut edges: Vec<Edge> = node.children().filter(Node::is_element).map(|child| (child.id(), 1, 0)).collect();
        let is_link = is_named(node, LINKS);
        let is_href = |name: &str, space: Option<&str>| {
            is_link && name.eq_ignore_ascii_case("href") && space.is_none_or(|one| one == XLINK)
        };
        let attributes = node.attributes().filter(|attribute| is_href(attribute.name(), attribute.namespace()));
        for url in attributes.map(|attribute| attribute.value()) {
            // Browsers read an address with a space before it as they read those of other files.
            if is_encoded(url) || url.starts_with(char::is_whitespace) && url.trim().starts_with('#') {
                return None;
            }
            for target in self.find(url) {
                *left = left.checked_sub(1)?;
                edges.push((target.id(), 1, 0));
            }
        }
        Some(edges)
    }

    /// The elements that are drawn with this one; `None` if they cannot be told, or are too many.
    ///
    /// `sums` are the elements, and the vertices, that are drawn with each element without layers.
    fn edges_from(&self, node: Node<'b, 'b>, sums: (&Sums, &Sums), left: &mut u64) -> Option<Vec<Edge>> {
        let mut edges = self.links_from(node, left)?;
        for attribute in node.attributes().filter(|attribute| attribute.namespace().is_none_or(|one| one == XLINK)) {
            let name = attribute.name().to_ascii_lowercase();
            let is_read = attribute.value().contains('(') || draws_layer(&name);
            if is_read && name != "href" && name != "style" {
                let pieces = value(attribute.value());
                for reference in self.references(&name, &pieces) {
                    self.refer(node, reference, sums, left, &mut edges)?;
                }
            }
        }
        // A class can be named many times.
        let keys: HashSet<_> = cascade::keys(node).collect();
        let sheets = keys.iter().filter_map(|key| self.sheets.get(key));
        for at in sheets.chain(self.attributes.get(&node.id())).flatten() {
            for reference in &self.declared[*at] {
                self.refer(node, *reference, sums, left, &mut edges)?;
            }
        }
        Some(edges)
    }

    fn find(&self, url: &str) -> impl Iterator<Item = Node<'b, 'b>> {
        let found = url.trim().strip_prefix('#').and_then(|id| self.ids.get(id));
        found.into_iter().flatten().copied()
    }

    fn layers(&self, url: &str) -> impl Iterator<Item = Node<'b, 'b>> {
        self.find(url).filter(|target| is_named(*target, LAYERS))
    }

    fn refer(
        &self,
        node: Node<'b, 'b>,
        (property, url): Reference<'_>,
        (elements, vertices): (&Sums, &Sums),
        left: &mut u64,
        edges: &mut Vec<Edge>,
    ) -> Option<()> {
        let url = url.filter(|url| !is_encoded(url))?;
        for target in self.layers(url) {
            // Each is at least one image, so that a list that is too long costs too much.
            *left = left.checked_sub(IMAGE)?;
            if is_named(target, &["marker"]) && node.ancestors().any(|one| is_named(one, &["marker"])) {
                return None;
            }
            let of = |sums: &Sums| sums.get(&node.id()).copied().unwrap_or(0);
            let times = if property.starts_with("marker") {
                of(vertices)
            } else if property.starts_with("--") || ["fill", "stroke"].contains(&property) {
                // Children inherit it.
                of(elements)
            } else {
                1
            };
            edges.push((target.id(), times, IMAGE));
        }
        Some(())
    }
}

fn is_named(node: Node<'_, '_>, names: &[&str]) -> bool {
    names.iter().any(|name| node.tag_name().name().eq_ignore_ascii_case(name))
}

/// Whether a property refers to a layer, and children do not inherit it by themselves.
fn draws_layer(property: &str) -> bool {
    property == "all" || ["mask", "clip-path", "filter"].iter().any(|name| property.starts_with(name))
}

/// Whether a viewer must decode an address in the icon, or leave characters out of it, to find the id. Ids of icons are plain.
fn is_encoded(url: &str) -> bool {
    let url = url.trim();
    url.starts_with('#') && url.contains(|c: char| c == '%' || c.is_control())
}

/// How many markers a shape has at most.
fn vertices(node: Node<'_, '_>) -> u64 {
    let count =
        |name| attribute(node, name).map_or(0, |text| text.matches(char::is_alphabetic).count() + numbers(text));
    2 + (count("d") + count("points")) as u64
}

/// What the steps of a filter cost, in an icon of this width and height that draws parts enlarged.
fn filter_cost(node: Node<'_, '_>, area: (f64, f64), scale: f64) -> u64 {
    let is_user_space =
        attribute(node, "filterUnits").is_some_and(|text| text.trim().eq_ignore_ascii_case("userSpaceOnUse"));
    // In units of the icon, or of the element's box.
    let length = |name: &str, whole: f64| {
        let whole = if is_user_space { whole } else { 1.0 };
        attribute(node, name).map_or(1.0, |text| lengths(text, whole, LARGEST_UNIT).sum::<f64>() / whole)
    };
    let times = length("width", area.0) * length("height", area.1) / AREA;
    if times.is_nan() {
        return u64::MAX;
    }
    // How often browsers carry out steps to make each result, what that costs, and how far away the pixels in it are from.
    let mut results: HashMap<&str, (u64, u64, f64)> = HashMap::new();
    let (mut last, mut sum) = ((0_u64, 0_u64, 0.0_f64), 0_u64);
    let side = area.0.min(area.1);
    for step in node.children().filter(Node::is_element) {
        let inputs: Vec<Option<&str>> = if is_named(step, &["femerge"]) {
            step.children().filter(Node::is_element).map(|one| attribute(one, "in")).collect()
        } else if is_named(step, TWO_INPUTS) {
            vec![attribute(step, "in"), attribute(step, "in2")]
        } else if is_named(step, NO_INPUTS) {
            Vec::new()
        } else {
            vec![attribute(step, "in")]
        };
        let mut own = (1_u64, 0_u64, 0.0_f64);
        for name in inputs {
            let found = name.and_then(|name| results.get(name)).copied();
            let is_source = name.is_some_and(|name| ["SourceGraphic", "SourceAlpha"].contains(&name));
            // A name that no result has stands for the step before, as no name does.
            let input = found.unwrap_or(if is_source { (0, 0, 0.0) } else { last });
            own = (own.0.saturating_add(input.0), own.1.saturating_add(input.1), own.2.max(input.2));
        }
        own.2 += reach(step) * scale;
        // A browser draws what is around the icon as far as a step looks, whatever the element's size.
        let sides = 1.0 + 2.0 * own.2 / side;
        let cost = step_cost(step).saturating_mul(whole(times.max(sides * sides)));
        own.1 = own.1.saturating_add(cost);
        if own.0 > REPEATS {
            return u64::MAX;
        }
        sum = sum.saturating_add(cost);
        last = own;
        results.extend(attribute(step, "result").map(|name| (name, own)));
    }
    sum.max(last.1)
}

/// How far a step looks for the pixels that change one: three times the deviation of a blur.
fn reach(step: Node<'_, '_>) -> f64 {
    let longest = |name: &str| {
        let numbers = lengths(attribute(step, name).unwrap_or_default(), 1.0, LARGEST_UNIT).map(f64::abs);
        numbers.reduce(|one, other| if one > other || one.is_nan() { one } else { other }).unwrap_or_default()
    };
    let map = if is_named(step, &["fedisplacementmap"]) { longest("scale") } else { 0.0 };
    longest("stdDeviation") * 3.0 + longest("radius") + map
}

/// The greatest factor by which transforms enlarge an element, without those of a `use` of it.
fn scale(icon: &Icon<'_>) -> f64 {
    if !icon.elements().any(|node| is_named(node, &["filter"])) {
        return 1.0;
    }
    let mut scales: HashMap<NodeId, f64> = HashMap::new();
    let mut largest = 1.0_f64;
    // Parents come before their children.
    for node in icon.elements() {
        let outer = node.parent().and_then(|parent| scales.get(&parent.id())).copied().unwrap_or(1.0);
        let own = attribute(node, "transform").map_or(1.0, factor);
        scales.insert(node.id(), outer * own);
        largest = largest.max(outer * own);
    }
    largest
}

/// The factor by which a list of transforms enlarges, or more.
fn factor(transform: &str) -> f64 {
    let one = |part: &str| {
        let (name, numbers) = part.split_once('(')?;
        let mut numbers = lengths(numbers, 1.0, LARGEST_UNIT).map(f64::abs);
        let name = name.trim_matches(|c: char| c.is_whitespace() || c == ',');
        let longest = |count: usize, numbers: &mut dyn Iterator<Item = f64>| numbers.take(count).fold(0.0, f64::max);
        match name {
            "scale" => Some(longest(2, &mut numbers)),
            "matrix" => Some(longest(4, &mut numbers)),
            "skewX" | "skewY" => Some(1.0 + numbers.next()?.to_radians().tan().abs()),
            _ => None,
        }
    };
    transform.split(')').filter_map(one).product()
}

/// What one step of a filter costs.
fn step_cost(step: Node<'_, '_>) -> u64 {
    let all = |name: &str| lengths(attribute(step, name).unwrap_or_default(), 1.0, LARGEST_UNIT);
    let is_wide =
        ["radius", "stdDeviation"].into_iter().flat_map(all).any(|number| number.is_nan() || number.abs() > WIDE);
    if is_wide {
        return WIDE_STEP;
    }
    let pixels = if is_named(step, &["feconvolvematrix"]) {
        let order = (all("order").next().unwrap_or(3.0), all("order").last().unwrap_or(3.0));
        order.0 * order.1
    } else if is_named(step, &["feturbulence"]) {
        all("numOctaves").sum()
    } else {
        1.0
    };
    STEP.saturating_mul(if pixels <= 1.0 { 1 } else { whole(pixels) })
}

/// The units of length that depend on nothing. In pixels, the largest is 96 and the smallest 0.94.
const UNITS: &[&str] = &["mm", "cm", "in", "pt", "pc", "q"];
const LARGEST_UNIT: f64 = 100.0;
const SMALLEST_UNIT: f64 = 0.9;

/// The numbers in a text, with a value for 100 per cent, and one for any unit but the pixel. `NaN` stands for what cannot be
/// told.
fn lengths(text: &str, whole: f64, unit: f64) -> impl Iterator<Item = f64> {
    tokens(text).filter_map(move |(token, range)| {
        let written = &text[range];
        match token {
            Token::Number(number) if written.ends_with('%') => Some(number * whole),
            Token::Number(number) => Some(number),
            Token::Dimension => {
                let number = written.trim_end_matches(|c: char| !c.is_ascii_digit());
                let is_known = UNITS.iter().any(|one| written[number.len()..].eq_ignore_ascii_case(one));
                let number = number.parse::<f64>().ok().filter(|_| is_known);
                Some(number.map_or(f64::NAN, |number| number * unit))
            }
            Token::Function(_) | Token::Url(_) | Token::Unread => Some(f64::NAN),
            _ => None,
        }
    })
}

/// A number without its fraction; one that is too large, or `NaN`, is the largest.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than the limit; negative is 0")]
fn whole(number: f64) -> u64 {
    if number < 1e15 { number as u64 } else { u64::MAX }
}

/// Width and height of what the icon shows.
fn area(icon: &Icon<'_>) -> (f64, f64) {
    let positive = |size: f64| if size > 0.0 { size } else { 16.0 };
    let number = |name| attribute(icon.root(), name).and_then(|text| lengths(text, 16.0, SMALLEST_UNIT).next());
    let in_box = |at| attribute(icon.root(), "viewBox").and_then(|text| lengths(text, 16.0, SMALLEST_UNIT).nth(at));
    let size = |at, name| positive(in_box(at).or_else(|| number(name)).unwrap_or_default());
    (size(2, "width"), size(3, "height"))
}

/// How lines of an icon are dashed.
struct Dashes {
    /// The shortest average of a dash array; `NaN` if one cannot be told.
    average: f64,
    /// The longest side of what can be 100 per cent.
    side: f64,
    /// The sum of the lengths in CSS, which any shape can have.
    css: f64,
}

impl Dashes {
    fn of(icon: &Icon<'_>) -> Option<Self> {
        let arrays = icon.elements().flat_map(dash_arrays).chain(css_dash_arrays(icon));
        // Unlike `min`, this keeps `NaN`.
        let shorter = |one: f64, other: f64| if one < other || one.is_nan() { one } else { other };
        let average = arrays.filter_map(average).reduce(shorter)?;
        let boxes = icon.elements().filter_map(|node| attribute(node, "viewBox"));
        let area = area(icon);
        let sides = boxes.flat_map(|text| lengths(text, 16.0, LARGEST_UNIT));
        let side = sides.map(f64::abs).fold(area.0.max(area.1), f64::max);
        let declarations = icon.styles.iter().flat_map(|styled| &styled.css.declarations);
        let css_lengths = declarations.filter(|one| SIZES.contains(&one.standard_property()));
        let css = css_lengths.flat_map(|one| lengths(&one.text, side, LARGEST_UNIT)).map(f64::abs).sum();
        Some(Self { average, side, css })
    }

    /// What the dashes of an element cost, if its lines are dashed.
    fn cost(&self, node: Node<'_, '_>) -> u64 {
        let own = attribute(node, "pathLength").and_then(|text| text.trim().parse::<f64>().ok());
        let length = match node.tag_name().name().to_ascii_lowercase().as_str() {
            "path" | "rect" | "circle" | "ellipse" | "line" | "polyline" | "polygon" => {
                own.filter(|own| *own > 0.0).unwrap_or_else(|| self.length(node))
            }
            _ => return 0,
        };
        if length == 0.0 { 0 } else { whole(length / self.average / DASHES) }
    }

    /// The length of a shape's lines, or more.
    fn length(&self, node: Node<'_, '_>) -> f64 {
        if is_named(node, &["path"]) {
            // Viewers draw a path up to the first mistake, which this does not.
            return attribute(node, "d")
                .map_or(0.0, |path| BezPath::from_svg(path).map_or(f64::NAN, |path| length(&path)));
        }
        let sizes = SIZES.iter().chain(PLACES).filter_map(|name| attribute(node, name));
        let sum: f64 = sizes.flat_map(|text| lengths(text, self.side, LARGEST_UNIT)).map(f64::abs).sum();
        // The way around a circle is a little more than six radii.
        (sum + self.css) * 8.0
    }
}

/// The attributes with which a shape is long; those that are also CSS, and the others.
const SIZES: &[&str] = &["width", "height", "r", "rx", "ry"];
const PLACES: &[&str] = &["x1", "y1", "x2", "y2", "points"];

/// The dash arrays that attributes set. Most say that there is none.
fn dash_arrays<'n>(node: Node<'n, '_>) -> impl Iterator<Item = &'n str> {
    let is_array = |name: &str| name.eq_ignore_ascii_case("stroke-dasharray");
    let attributes = node.attributes().filter(move |attribute| is_array(attribute.name()));
    attributes.map(|attribute| attribute.value()).filter(|text| has_numbers(text))
}

fn css_dash_arrays<'b>(icon: &'b Icon<'_>) -> impl Iterator<Item = &'b str> {
    let declarations = icon.styles.iter().flat_map(|styled| &styled.css.declarations);
    let arrays = declarations.filter(|one| one.standard_property() == "stroke-dasharray");
    arrays.map(|one| one.text.as_str()).filter(|text| has_numbers(text))
}

/// Whether a value has a number, or a function that can stand for one.
fn has_numbers(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit() || c == '(')
}

/// The average of a dash array; `None` if nothing is dashed with it.
fn average(text: &str) -> Option<f64> {
    // A percentage is that of a length that is hardly less than a unit.
    let (mut sum, mut count) = (0.0, 0.0);
    for length in lengths(text, 1.0, SMALLEST_UNIT) {
        sum += length;
        count += 1.0;
    }
    (sum > 0.0 || sum.is_nan()).then(|| sum / count)
}

/// The length of a path's lines, or that of the lines between its control points, which is not less.
fn length(path: &BezPath) -> f64 {
    let (mut start, mut here, mut sum) = (Point::ORIGIN, Point::ORIGIN, 0.0);
    for element in path {
        let points = match element {
            PathEl::MoveTo(point) => {
                (start, here) = (point, point);
                vec![]
            }
            PathEl::LineTo(one) => vec![one],
            PathEl::QuadTo(one, two) => vec![one, two],
            PathEl::CurveTo(one, two, three) => vec![one, two, three],
            PathEl::ClosePath => vec![start],
        };
        for point in points {
            sum += here.distance(point);
            here = point;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::{Icon, SVG};

    fn is_read(body: &str) -> bool {
        Icon::parse(&format!("<svg xmlns='{SVG}'>{body}<path d='M0 0h1v1z'/></svg>")).is_ok()
    }

    #[test]
    fn layers_that_multiply_or_loop_are_refused() {
        let nested = |levels: usize, name: &str, reference: &str| {
            let level = |level: usize| {
                let own = reference.replace('#', &format!("#l{}", level + 1));
                let shape = format!("<path {own} d='M0 0h1v1z'/>");
                format!("<{name} id='l{level}'>{shape}{shape}</{name}>")
            };
            (0..levels).map(level).collect::<String>()
                + &format!("<path {} d='M0 0h1v1z'/>", reference.replace('#', "#l0"))
        };
        for (name, reference) in [
            ("mask", "mask='url(#)'"),
            ("clipPath", "clip-path='url(#)'"),
            ("clipPath", "style='clip-path:url(#)'"),
            ("mask", "style='-webkit-mask:url(#)'"),
            ("pattern", "fill='url(#)'"),
        ] {
            assert!(is_read(&nested(3, name, reference)), "{reference}");
            assert!(!is_read(&nested(40, name, reference)), "{reference}");
        }
        for (name, reference) in [
            ("mask", "style='mask-image:url(#)'"),
            ("mask", "style='-webkit-mask-image:url(#)'"),
            ("mask", "style='--m:url(#);mask:var(--m)'"),
            ("mask", "MASK='url(#)'"),
            ("clippath", "clip-path='url(#)'"),
        ] {
            assert!(!is_read(&nested(40, name, reference)), "{reference}");
        }
        // Viewers do not agree which of two elements an id names.
        assert!(!is_read(&(nested(40, "mask", "mask='url(#)'") + "<mask id='l0'/>")));
        assert!(!is_read("<mask id='a'><path d='M0 0h1v1z'/></mask><path mask='url(#%61)' d='M0 0h1v1z'/>"));
        let mark = "<path marker-mid='url(#b)' d='M0 0h1v1z'/>";
        assert!(!is_read(&format!(
            "<marker id='a'>{mark}</marker><marker id='b'/><path marker-mid='url(#a)' d='M0 0h1z'/>"
        )));
        assert!(is_read(&format!("<marker id='b'><path d='M0 0h1v1z'/></marker>{mark}")));
        assert!(!is_read("<mask id='a'><path mask='url(#a)' d='M0 0h1v1z'/></mask>"));
        assert!(!is_read("<style>.a{mask:url(#a)}</style><mask id='a'><path class='a' d='M0 0h1v1z'/></mask>"));
        assert!(is_read("<g mask='url(#a)'><mask id='a'><path d='M0 0h1v1z'/></mask></g>"));
        // A property that children inherit is drawn with each of them.
        let level = |level: usize, next: &str| {
            format!(
                "<pattern id='p{level}'><g fill='url(#p{next})'>{}</g></pattern>",
                "<path d='M0 0h1v1z'/>".repeat(30)
            )
        };
        let patterns = |levels: usize| (0..levels).map(|one| level(one, &(one + 1).to_string())).collect::<String>();
        assert!(is_read(&patterns(2)) && !is_read(&patterns(5)));
    }

    #[test]
    fn filters_repeat_no_step_too_often() {
        let filter =
            |steps: &str| is_read(&format!("<filter id='f'>{steps}</filter><path filter='url(#f)' d='M0 0h1v1z'/>"));
        let doubling = |count: usize| {
            let step = |at: usize| format!("<feBlend in='a{at}' in2='a{at}' result='a{}'/>", at + 1);
            "<feOffset result='a0'/>".to_owned() + &(0..count).map(step).collect::<String>()
        };
        assert!(filter(&doubling(5)) && !filter(&doubling(20)));
        assert!(!filter(&"<feMorphology radius='9999'/>".repeat(20)));
        let shadow = "<feFlood flood-opacity='0' result='b'/><feOffset dy='4'/><feGaussianBlur stdDeviation='2'/><feBlend in2='b' result='s'/>";
        assert!(filter(&format!("{}<feBlend in='SourceGraphic' in2='s'/>", shadow.repeat(6))));
    }

    #[test]
    fn what_a_viewer_must_work_out_is_refused() {
        let mask = "<mask id='a'><path d='M0 0h1v1z'/></mask>";
        // A property of the parent is a reference of its own.
        for part in [
            "mask='inherit'", "clip-path='inherit'", "filter=' INHERIT '", "style='mask:inherit'",
            "style='-webkit-mask-image:inherit'", "style='all:inherit'", "style='mask:var(--m,inherit)'",
        ] {
            assert!(!is_read(&format!("{mask}<g mask='url(#a)'><path {part} d='M0 0h1v1z'/></g>")), "{part}");
        }
        assert!(is_read(&format!("{mask}<g mask='url(#a)'><path fill='inherit' d='M0 0h1v1z'/></g>")));
        for (id, href) in [("ab", "#a%62"), ("ab", "#a&#9;b"), ("ab", "#a&#10;b"), ("ab", " #ab"), ("ab", "&#9;#ab")] {
            assert!(!is_read(&format!("<path id='{id}' d='M0 0h1v1z'/><use href='{href}'/>")), "{href}");
        }
        assert!(!is_read("<path id='ab' d='M0 0h1v1z'/><use xmlns:x='http://www.w3.org/1999/xlink' x:href='#a%62'/>"));
        for (id, href) in [("ab", "#ab"), ("ab", "#ab "), ("a b", "#a b"), ("é", "#é")] {
            assert!(is_read(&format!("<path id='{id}' d='M0 0h1v1z'/><use href='{href}'/>")), "{href}");
        }
    }

    #[test]
    fn what_use_draws_inherits_too() {
        let shape = "<path d='M0 0h1v1z'/>";
        let marker = |count: usize| format!("<marker id='m'>{}</marker>", shape.repeat(count));
        let path = |count: usize| format!("<defs><path id='p' d='M0 0{}'/></defs>", "h1".repeat(count));
        let group = |count: usize| format!("<g marker-mid='url(#m)'>{}</g>", "<use href='#p'/>".repeat(count));
        assert!(is_read(&(marker(2) + &path(20) + &group(5))));
        assert!(!is_read(&(marker(2) + &path(200) + &group(40))));
        // Each of few elements can be drawn many times.
        let inner = format!("<defs><g id='p'>{}</g></defs>", "<path style='mask:var(--m)' d='M0 0h1v1z'/>".repeat(30));
        let group = |count: usize| format!("<g style='--m:url(#k)'>{}</g>", "<use href='#p'/>".repeat(count));
        let mask = format!("<mask id='k'>{shape}</mask>");
        assert!(is_read(&(mask.clone() + &inner + &group(2))) && !is_read(&(mask + &inner + &group(50))));
        assert!(!is_read(&(marker(1) + "<path marker-mid='url(#m)' style='d:path(\"M0 0h1\")' d='M0 0h1v1z'/>")));
    }

    #[test]
    fn many_references_end_soon() {
        let started = std::time::Instant::now();
        let many = |text: &str, count: usize| text.repeat(count);
        for body in [
            many("<mask id='a'/>", 2_000) + &format!("<g mask='{}'/>", many("url(#a) ", 2_000)),
            many("<marker id='m'/>", 150)
                + &format!("<g style='{}'>{}</g>", many("marker:url(#m);", 450), many("<path d='M0 0h1'/>", 1_000)),
            many("<g id='a'/>", 2_000) + &many("<use href='#a'/>", 2_000),
        ] {
            assert!(!is_read(&body), "{body:.60}");
        }
        // A class counts once.
        let references = many("--x:url(#m);", 900);
        let classes = many("a ", 9_000);
        assert!(is_read(&format!("<style>.a{{{references}}}</style><mask id='m'/><g class='{classes}'/>")));
        // No reference of these leads to anything.
        assert!(is_read(&format!(
            "<style>.a{{{}}}</style><mask id='m'/>{}",
            many("--x:url(#n);", 900),
            many("<g class='a a'/>", 9_000)
        )));
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
    }

    #[test]
    fn dashes_are_bounded() {
        let line = |attributes: &str| is_read(&format!("<path stroke='red' {attributes} d='M0 0h16'/>"));
        for array in [".00001", "1e-5", "0 .00001", "0 0 0 0 0 0 0 0 .0001", "calc(.00001px)", "1e-5mm", "1e-9em"] {
            assert!(!line(&format!("stroke-dasharray='{array}'")), "{array}");
            assert!(!line(&format!("style='stroke-dasharray:{array}'")), "{array}");
        }
        for array in ["0 4", ".01 3", "none", "0", "4", "4,2", "1px 2px", "2mm", "10%", "inherit", ".1 .1"] {
            assert!(line(&format!("stroke-dasharray='{array}'")), "{array}");
            assert!(line(&format!("style='stroke-dasharray:{array}'")), "{array}");
        }
        assert!(
            !line("pathLength='1000000' stroke-dasharray='1'") && line("pathLength='1' stroke-dasharray='.01 .02'")
        );
        assert!(!line("STROKE-DASHARRAY='.00001'"));
        let used = |array: &str, shape: &str| {
            let uses = "<use href='#p'/>".repeat(100);
            is_read(&format!("<defs><g id='p'>{shape}</g></defs><g stroke-dasharray='{array}'>{uses}</g>"))
        };
        for shape in [
            "<path d='M0 0a8 8 0 018 8Q9 9 0 0z'/>", "<rect width='16' height='100%'/>", "<circle r='8'/>",
            "<polyline points='0,0 16,0'/>",
        ] {
            assert!(used("1", shape) && !used(".001", shape), "{shape}");
        }
        // A long line has many dashes of an ordinary length.
        assert!(!used("1", &format!("<path d='M0 0{}'/>", "H1e4H0".repeat(9))));
    }

    #[test]
    fn regions_and_steps_of_filters_are_bounded() {
        let filter = |attributes: &str, steps: &str| {
            is_read(&format!("<filter id='f' {attributes}>{steps}</filter><path filter='url(#f)' d='M0 0h1v1z'/>"))
        };
        // What a step without an input, or with an unknown one, begins with is the step before.
        for step in [
            "<feBlend/>",
            "<feBlend in='zz' in2='zz'/>",
            "<feComposite in='' in2=''/>",
            "<feMerge><feMergeNode/><feMergeNode/></feMerge>",
        ] {
            assert!(filter("", &step.repeat(4)) && !filter("", &step.repeat(40)), "{step}");
        }
        let plain =
            "<feFlood/><feOffset in='SourceAlpha'/><feMerge><feMergeNode/><feMergeNode in='SourceGraphic'/></feMerge>";
        assert!(filter("", &plain.repeat(40)));
        let blur = "<feGaussianBlur stdDeviation='2'/>".repeat(10);
        let icon = "filterUnits='userSpaceOnUse'";
        assert!(!filter("x='-100' y='-100' width='300' height='300'", &blur));
        assert!(!filter("width='30000%' height='30000%'", &blur));
        assert!(!filter(&format!("{icon} width='5000' height='5000'"), &blur));
        assert!(!filter("width='9em' height='9em'", &blur));
        // Whatever the region: the element can be large.
        assert!(!filter("", &"<feGaussianBlur stdDeviation='50'/>".repeat(20)));
        assert!(!filter("", &"<feMorphology radius='49'/>".repeat(40)) && filter("", "<feMorphology radius='1'/>"));
        assert!(filter("", "<feDropShadow stdDeviation='4'/>") && filter("", "<feGaussianBlur stdDeviation='50'/>"));
        let scaled = |transform: &str| {
            let blur = "<feGaussianBlur stdDeviation='.2'/>".repeat(20);
            let path = format!("<g transform='{transform}'><path filter='url(#f)' d='M0 0h1v1z'/></g>");
            is_read(&format!("<filter id='f'>{blur}</filter>{path}"))
        };
        assert!(!scaled("scale(300)") && !scaled("translate(1 2) matrix(9 0 0 9 0 0),scale(-30)"));
        assert!(scaled("scale(1.3) rotate(45) translate(900,900)") && scaled("scale(-1 1)"));
        assert!(filter("", &blur) && filter("x='-50%' y='-50%' width='200%' height='200%'", &blur));
        assert!(filter(&format!("{icon} width='24' height='24'"), &blur));
        // A glow as large as the icon, in a region that has room for it.
        let glow = "<feGaussianBlur stdDeviation='16'/>".to_owned() + &"<feColorMatrix/>".repeat(5);
        assert!(filter(&format!("{icon} x='-48' y='-48' width='112' height='112'"), &glow));
        assert!(!filter("", &"<feGaussianBlur stdDeviation='1\t999'/>".repeat(20)));
        assert!(!filter("", &"<feConvolveMatrix order='15'/>".repeat(40)));
        assert!(filter("", &"<feConvolveMatrix/>".repeat(4)));
        assert!(
            !filter("", &"<feTurbulence numOctaves='9999'/>".repeat(4)) && filter("", "<feTurbulence numOctaves='3'/>")
        );
    }

    #[test]
    fn many_plain_layers_are_read() {
        let clip = "<clipPath id='c'><path d='M0 0h1v1z'/></clipPath>";
        assert!(is_read(&(clip.to_owned() + &"<path clip-path='url(#c)' d='M0 0h1v1z'/>".repeat(500))));
    }
}
