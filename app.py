"""The front page: in-context learning, the papers with a picture each, and how the claims fared.

Streamlit's server runs this file for each visitor. When the server starts, it imports the file and
serves `app`.
"""

if __name__ == "__main__":
    from pages.ui.front.front import show

    show()
else:
    from starlette.middleware import Middleware
    from streamlit.starlette import App

    from pages.ui.classroom.routes import routes
    from pages.ui.web_server import CompressedFiles, open_browser

    app = App(
        __file__,
        lifespan=open_browser,
        routes=routes(),
        middleware=[Middleware(CompressedFiles)],
    )
