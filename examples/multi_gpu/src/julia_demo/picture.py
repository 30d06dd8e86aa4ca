"""Write a picture as SVG: panels of cells, each with the colour of its number. Equal cells in a row are one stroke."""

SIZE, GAP = 4, 12
"""The edge of a cell and the space around panels, in pixels."""


def svg(panels, colours):
    """Return the SVG of panels, given as two-dimensional arrays of numbers of colours by their titles."""
    height = 2 * GAP + 8 + SIZE * max(cells.shape[0] for cells in panels.values())
    width, drawn = GAP, []
    for title, cells in panels.items():
        strokes = "".join(
            f'<path stroke="{colour}" d="{path}"/>'
            for path, colour in zip(_paths(cells), colours, strict=False)
            if path
        )
        drawn.append(f'<text x="{width}" y="{GAP + 2}">{title}</text>')
        drawn.append(f'<g transform="translate({width} {GAP + 8}) scale({SIZE})">{strokes}</g>')
        width += GAP + SIZE * cells.shape[1]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head += ' font-family="sans-serif" font-size="11" shape-rendering="crispEdges">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *drawn, "</svg>\n"])


def _paths(cells):
    """Return the strokes of each number: for each, the moves from the end of the stroke before to the next."""
    paths, ends = [""] * (int(cells.max()) + 1), {}
    for row, line in enumerate(cells.tolist()):
        start = 0
        for column in range(1, len(line) + 1):
            if column == len(line) or line[column] != line[start]:
                number, length = line[start], column - start
                x, y = ends.get(number, (0, 0))
                paths[number] += (
                    f"m{start - x} {row - y}h{length}" if paths[number] else f"M{start} {row + 0.5}h{length}"
                )
                ends[number] = column, row
                start = column
    return paths
